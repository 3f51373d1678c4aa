#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of one ncnn layer each: every type of layer, with the parameters that decide which other layers it creates.
usage: networks.py DIRECTORY     writes them there, as NAME.param"""
import pathlib
import re
import sys

# type | inputs, KIND:WxHxDxC as run_network.cpp makes them | parameters | number of outputs, 1 if not given
# {x,y} stands for each of these in turn, {0..3} for each of these numbers, {a} for each fused activation; [x,y] likewise, but all
# [] of a row go together.
LAYERS = """
AbsVal | {floats:9x7x16,floats:9x7x3,floats:11x8,floats:19} |
BatchNorm | [floats:9x7x16,floats:9x7x12,floats:5x4x3x16] | 0=[16,12,16] 1=40.0
Bias | floats:9x7x16 | 0=16
BNLL | {floats:9x7x16,floats:9x7x3} |
BinaryOp | floats:9x7x16 floats:9x7x16 | 0={0..5}
BinaryOp | positives:9x7x12 positives:9x7x12 | 0={6..18}
BinaryOp | floats:9x7x8 floats:1x1x8 | 0={0,2}
BinaryOp | positives:9x7x8 | 0={0..18} 1=1 2=1.5
BinaryOp | floats:9x7x3 floats:9 | 0=0
CELU | floats:9x7x16 | 0=0.7
Cast | floats:9x7x16 | 0=1 1={1,2,4}
Clip | {floats:9x7x16,floats:9x7x3} | 0=-0.3 1=0.4
Concat | floats:9x7x16 floats:9x7x16 | 0={0..2}
Concat | floats:9x7x3 floats:9x7x4 | 0=0
Concat | floats:12 floats:16 | 0=0
Concat | floats:5x4x3x8 floats:5x4x3x8 | 0={0..3}
Convolution | floats:14x14x8 | 0=8 1=3 5=1 6=576 {a}
Convolution | floats:14x14x16 | 0=16 1=3 4=1 5=1 6=2304 {a}
Convolution | floats:14x14x3 | 0=6 1=3 4={-233,-234,2} 5=1 6=162
Convolution | floats:14x14x16 | 0=16 1=1 5=1 6=256 3={1,2}
Convolution | floats:15x15x8 | 0=16 1=3 2={2,3} 4=1 5=1 6=1152
Convolution | floats:15x15x8 | 0=16 1=[5,7] 3={1,2} 4=2 5=1 6=[3200,6272]
Convolution | floats:15x15x12 | 0=12 1=3 3=2 4=1 18=0.5 5=0 6=1296
Convolution | floats:16 | 0=8 1=1 5=1 6=128 {a}
Convolution | floats:14x14x8 | 0=8 1=3 4=1 5=1 6=576 8={1,2,101} {a}
Convolution | floats:14x14x16 | 0=16 1=[1,3] 4={0,-233} 5=1 6=[256,2304] 8={1,101}
Convolution | floats:14x14x8 floats:3x3x8x16 floats:16 | 0=16 1=3 5=1 19=1 4={0,1,-233} {a}
Convolution1D | floats:20x8 | 0=8 1=3 5=1 6=192 {a}
Convolution1D | floats:20x3 | 0=16 1=3 4={1,-233,-234} 5=1 6=144
Convolution1D | floats:20x16 | 0=16 1=3 2=2 3=2 4=1 5=1 6=768
Convolution1D | floats:20x8 floats:3x8x16 floats:16 | 0=16 1=3 5=1 4={0,-233} 19=1 {a}
Convolution3D | floats:8x8x6x4 | 0=4 1=3 4={0,1,-233} 5=1 6=432 {a}
ConvolutionDepthWise | floats:14x14x16 | 0=16 1=3 5=1 6=144 7=16 {a}
ConvolutionDepthWise | floats:14x14x3 | 0=3 1=[3,5] 4={1,-233,-234} 5=1 6=[27,75] 7=3
ConvolutionDepthWise | floats:14x14x8 | 0=8 1=[3,5] 3={1,2} 4=2 5=1 6=[72,200] 7=8
ConvolutionDepthWise | floats:14x14x8 | 0=16 1=3 4={0,-233} 5=1 6=288 7=4 {a}
ConvolutionDepthWise | floats:14x14x32 | 0=32 1=3 4=1 5=1 6=4608 7=2
ConvolutionDepthWise | floats:14x14x16 | 0=16 1=3 4=1 5=1 6=144 7=16 8={1,2,101,102} {a}
ConvolutionDepthWise | floats:14x14x16 | 0=16 1=3 4=1 5=1 6=576 7=4 8={1,101} {a}
ConvolutionDepthWise | floats:14x14x16 floats:3x3x1x16 floats:16 | 0=16 1=3 5=1 7=16 19=1 4={0,-233} {a}
ConvolutionDepthWise1D | floats:20x8 | 0=8 1=3 4={0,1,-233} 5=1 6=24 7=8 {a}
ConvolutionDepthWise1D | floats:20x8 | 0=16 1=3 5=1 6=96 7=4
ConvolutionDepthWise3D | floats:8x8x6x4 | 0=4 1=3 4={0,1,-233} 5=1 6=108 7=4 {a}
CopyTo | floats:9x7x16 floats:4x3x8 | 0=1 1=2 2=4
Crop | floats:12x10x16 | 0=2 1=3 2=0 3=5 4=4 5=-233
Crop | floats:12x10x16 | 0=1 1=1 2=8 3=-233 4=-233 5=-233
Crop | floats:12x10x16 floats:5x4x16 | 0=2 1=3 2=0
Crop | floats:12x10x3 | -23309=2,1,2 -23310=2,6,7 -23311=2,1,2
Crop | floats:12x10x4 | 19="1,1" 20="-(0w,4),-(0h,3)" 21="2,1"
CumulativeSum | floats:9x7x4 | 0={0..2}
Deconvolution | floats:9x9x8 | 0=8 1=4 3=2 5=1 6=1024 {a}
Deconvolution | floats:9x9x16 | 0=16 1=[2,3,4] 3=2 4={0,1,-233,-234} 5=1 6=[1024,2304,4096]
Deconvolution | floats:9x9x3 | 0=6 1=3 3=2 4=1 18=1 5=1 6=162
Deconvolution | floats:9x9x4 | 0=4 1=3 3=2 4={-233,-234} 20=18 21=18 5=1 6=144
Deconvolution | floats:9x9x8 floats:4x4x8x8 floats:8 | 0=8 1=4 3=2 5=1 28=1 {a}
Deconvolution1D | floats:9x8 | 0=8 1=4 3=2 4={0,1} 5=1 6=256 {a}
Deconvolution1D | floats:9x8 floats:4x8x8 floats:8 | 0=8 1=4 3=2 5=1 28=1
Deconvolution3D | floats:5x5x4x4 | 0=4 1=3 3=2 4={0,1} 5=1 6=432 {a}
DeconvolutionDepthWise | floats:9x9x16 | 0=16 1=4 3=2 4={0,1} 5=1 6=256 7=16 {a}
DeconvolutionDepthWise | floats:9x9x8 | 0=16 1=4 3=2 4={0,1} 5=1 6=512 7=4 {a}
DeconvolutionDepthWise | floats:9x9x8 floats:4x4x1x8 floats:8 | 0=8 1=4 3=2 5=1 7=8 28=1
DeconvolutionDepthWise1D | floats:9x8 | 0=8 1=4 3=2 4={0,1} 5=1 6=32 7=8 {a}
DeconvolutionDepthWise3D | floats:5x5x4x4 | 0=4 1=3 3=2 4={0,1} 5=1 6=108 7=4 {a}
DeepCopy | floats:9x7x16 |
DeformableConv2D | floats:12x12x8 floats:12x12x18 | 0=8 1=3 4=1 5=1 6=576 {a}
DeformableConv2D | floats:12x12x16 floats:12x12x18 positives:12x12x9 | 0=16 1=3 4=1 5=1 6=2304
Dequantize | integers1000:9x7x16 | 0={1,16} 1={0,16}
DetectionOutput | floats:32 positives:24 boxes1:32x2 | 0=3 1=0.45 2=100 3=50 4=-0.2
Diag | floats:9 | 0={-1,0,2}
Diag | floats:9x7 | 0={-1,0,2}
Dropout | floats:9x7x16 | 0={1.0,0.5}
ELU | {floats:9x7x16,floats:9x7x3} | 0=0.3
Einsum | floats:8x7x6 floats:5x8x6 | -23300=12,105,106,108,44,105,108,107,45,62,105,106,107
Einsum | floats:7x7 | -23300=2,105,105
Eltwise | floats:9x7x16 floats:9x7x16 | 0={0..2}
Eltwise | floats:9x7x3 floats:9x7x3#2 floats:9x7x3#3 | 0=1 -23301=3,0.5,-1.0,2.0
Embed | integers10:13 | 0=16 1=10 2={0,1} 3=160
Erf | {floats:9x7x16,floats:9x7x3} |
Exp | floats:9x7x16 | 0={-1.0,2.0} 1=0.5 2=0.1
ExpandDims | floats:9x7 | -23303=1,{0..2}
Flatten | {floats:9x7x16,floats:9x7x3,floats:9x8,floats:5x4x3x8} |
Flip | floats:9x7x4 | -23300=1,{0..2}
Fold | floats:144x72 | 1=3 4=1 20=12
GELU | {floats:9x7x16,floats:9x7x3} | 0={0,1}
GLU | floats:8x6x4 | 0={0..2}
GRU | floats:12x7 | 0=8 1=[288,288,576] 2=[0,1,2]
GRU | floats:12x7 | 0=8 1=288 2=0 8=1
GRU | floats:12x7 floats:8x1 | 0=8 1=288 2=0 | 2
Gemm | floats:12x9 floats:10x12 |
Gemm | floats:9x12 floats:12x10 | 2=1 3=1 0=0.5
Gemm | floats:12x9 floats:10x12 floats:10x9 | 0=2.0 1=0.5
Gemm | floats:16x8 | 3=1 5=1 6=1 8=16 9=16 10={-1,4} 14={0,1}
Gemm | floats:16x8 | 4=1 6=1 7=12 9=8 10=1
Gemm | floats:16x8 | 3=1 5=1 6=1 8=16 9=16 10=4 18=2
GridSample | floats:9x7x16 floats:2x6x5 | 0={1..3} 1={1..3} 2={0,1}
GridSample | floats:9x7x3 floats:6x5x2 | 0=1 1=1 2=0 3=1
GroupNorm | floats:9x7x16 | 0={1,2,4} 1=16
GroupNorm | floats:9x7x3 | 0=3 1=3 3=0
HardSigmoid | {floats:9x7x16,floats:9x7x3} | 0=0.3
HardSwish | {floats:9x7x16,floats:9x7x3} | 0=0.3
InnerProduct | floats:4x4x16 | 0=16 1=1 2=4096 {a}
InnerProduct | [floats:48,floats:12x4] | 0=10 1={0,1} 2=[480,120]
InnerProduct | floats:4x4x16 | 0=16 1=1 2=4096 8=1 {a}
InnerProduct | floats:16x5 | 0=8 1=1 2=128 8={0,1}
InstanceNorm | floats:9x7x16 | 0=16 2={0,1}
Interp | {floats:9x7x16,floats:9x7x3} | 0={1..3} 3=12 4=10 6={0,1}
Interp | floats:9x7x4 | 0={1..3} 1=2.0 2=2.0
Interp | floats:9x7x8 floats:18x10x1 | 0=2 5=1
Interp | floats:12 | 0=2 3=3 4=4
Interp | floats:12x6 | 0={1..3} 4=18
Interp | floats:9x7x4 | 0=2 9="*(0w,2),*(0h,2)"
InverseSpectrogram | floats:2x8x9 | 0=16 1={0..2} 2=4 5={0,1}
InverseSpectrogram | floats:2x8x9 | 0=16 1=1 2=4 7={1,2}
LRN | floats:9x7x16 | 0={0,1} 1=5 2=0.5
LSTM | floats:12x7 | 0=8 1=[384,384,768] 2=[0,1,2]
LSTM | floats:12x7 | 0=8 1=768 2=0 3=16
LSTM | floats:12x7 | 0=8 1=384 2=0 8=1
LSTM | floats:12x7 floats:8x1 floats:8x1#2 | 0=8 1=384 2=0 | 3
LayerNorm | floats:16x7x4 | 0=16 2={0,1}
LayerNorm | floats:9x7x16 | 0={9,63} 2=1
Log | positives:9x7x16 | 0={-1.0,2.0} 1=0.5 2=0.1
MVN | floats:9x7x16 | 0={0,1} 1={0,1}
MatMul | floats:12x9x4 floats:10x12x4 | 0=0
MatMul | floats:12x9 floats:12x10 | 0=1
MatMul | floats:12 floats:10x12 | 0=0
MatMul | floats:12x9x2x3 floats:10x12x2x3 | 0=0
MemoryData | | 0=9 1=7 2=8
Mish | {floats:9x7x16,floats:9x7x3} |
MultiHeadAttention | floats:16x5 | 0=16 1=4 2=256
MultiHeadAttention | floats:16x5 floats:12x6 floats:12x6#2 | 0=16 1=4 2=256 3=12 4=12
MultiHeadAttention | floats:16x5 floats:16x6 floats:16x6#2 floats:6x5 | 0=16 1=2 2=256 5=1
MultiHeadAttention | floats:16x5 | 0=16 1=4 2=256 18=2
Noop | floats:9x7x16 |
Normalize | floats:9x7x16 | 0={0,1} 4={0,1} 1=[0,1] 3=[16,1] 9={0..2}
PReLU | [floats:9x7x16,floats:9x7x12] | 0=[16,12]
PReLU | floats:9x7x3 | 0=3
PSROIPooling | floats:14x14x18 boxes14:4 | 0=3 1=3 2=1.0 3=2
Packing | floats:9x7x16 | 0={1,4,8,16}
Padding | {floats:9x7x16,floats:9x7x3} | 0=1 1=2 2=2 3=1 4={0..2} 5=0.5
Padding | floats:9x7x8 | 0=1 1=2 2=2 3=1 4=0 6=8
Padding | floats:5x4x3x4 | 0=1 1=1 2=1 3=1 4={0..2} 7=1 8=1
Permute | floats:9x7x16 | 0={0..5}
Permute | floats:9x7x3x2 | 0={0,1,7,16,23}
Permute | floats:9x7 | 0=1
PixelShuffle | floats:6x5x16 | 0=2 1={0,1}
Pooling | {floats:14x14x16,floats:14x14x12,floats:15x15x3} | 0={0,1} 1=3 2=2 3={0,1} 5={0..3}
Pooling | floats:14x14x8 | 0={0,1} 4=1
Pooling | floats:14x14x8 | 0={0,1} 7=1 8=3
Pooling | floats:14x14x8 | 0=1 1=3 2=1 3=1 6=1
Pooling1D | floats:20x8 | 0={0,1} 1=3 2=2 3=1 5={0..3}
Pooling1D | floats:20x8 | 0={0,1} 4=1
Pooling1D | floats:20x8 | 0={0,1} 7=1 8=5
Pooling3D | floats:8x8x6x4 | 0={0,1} 1=2 2=2 3={0,1} 5={0..3}
Pooling3D | floats:8x8x6x4 | 0={0,1} 4=1
Pooling3D | floats:8x8x6x4 | 0={0,1} 7=1 8=3
Power | positives:9x7x16 | 0=1.5 1=0.5 2=0.1
PriorBox | floats:6x5x4 floats:60x50x3 | -23300=1,10.0 -23301=1,20.0 -23302=1,2.0 9=60 10=50 11=10.0 12=10.0 13=0.5
Proposal | floats:6x5x24 floats:6x5x48 boxes96:3 | 0=16 1=16 2=100 3=10 4=0.7 5=0
Quantize | floats:9x7x16 | 0={1,16}
RMSNorm | floats:16x7x4 | 0=16 2={0,1}
RNN | floats:12x7 | 0=8 1=[96,96,192] 2=[0,1,2]
RNN | floats:12x7 | 0=8 1=96 2=0 8=1
RNN | floats:12x7 floats:8x1 | 0=8 1=96 2=0 | 2
ROIAlign | floats:14x14x8 boxes14:4 | 0=3 1=3 2=1.0 3=2 4={0,1} 5={0,1}
ROIPooling | floats:14x14x8 boxes14:4 | 0=3 1=3 2=1.0
ReLU | {floats:9x7x16,floats:9x7x3,floats:11} | 0={0.0,0.1}
Reduction | positives:9x7x16 | 0={0..10} 1={0,1} -23303=1,0 4=1 5=1
Reduction | floats:9x7x8 | 0={0,3,4} 1=0 -23303=2,1,2 5=1
Reorg | floats:8x6x4 | 0=2 1={0,1}
Requantize | integers10:9x7x16 | 0={1,16} 1=1 2={0,16} {requantize}
Reshape | {floats:8x6x16,floats:96x8} | 0=16 1=-1
Reshape | floats:8x6x16 | 0=-1
Reshape | floats:8x6x16 | 0=4 1=12 2=-1
Reshape | floats:8x6x4 | 6="*(0w,2),-1"
RotaryEmbed | floats:16x5x4 floats:8x5 floats:8x5#2 | 0={0,1}
SDPA | floats:16x5x4 floats:16x6x4 floats:16x6x4#2 | 5=0
SDPA | floats:16x5x4 floats:16x6x2 floats:16x6x2#2 floats:6x5 | 5=1
SDPA | floats:16x5x4 floats:16x6x4 floats:16x6x4#2 | 5=0 18=2
SELU | floats:9x7x16 |
Scale | [floats:9x7x16,floats:9x7x12,floats:5x16] | 0=[16,12,16] 1={0,1}
Scale | floats:9x7x8 floats:8 | 0=-233
Shrink | floats:9x7x16 | 0=0.1 1=0.4
ShuffleChannel | {floats:9x7x16,floats:9x7x6} | 0=2 1={0,1}
Sigmoid | {floats:9x7x16,floats:9x7x3} |
Slice | floats:9x8x16 | -23300=2,-233,-233 1={0,1} | 2
Slice | floats:9x8x6 | -23300=3,1,2,-233 1=0 | 3
Slice | floats:9x8x16 | -23302=1,4 1=0 | 2
Softmax | {floats:9x7x16,floats:9x7x3,floats:9x8} | 0={0,1} 1=1
Softmax | floats:19 | 0=0 1=1
Softmax | floats:9x7x16 | 0=2 1=1
Softplus | floats:9x7x16 |
Spectrogram | floats:64 | 0=16 1=0 2=4 4={0..2} 5={0,1} 6={0..2}
Spectrogram | floats:64 | 0=16 1={1,2} 2=4 7={1,2} 8={0,1}
Split | floats:9x7x16 | | 2
Squeeze | floats:1x7x1 | -23303=1,{0,2}
Squeeze | floats:1x1x16 | 0=1 1=1
StatisticsPooling | floats:9x7x16 | 0={0,1}
Swish | {floats:9x7x16,floats:9x7x3} |
TanH | {floats:9x7x16,floats:9x7x3} |
Threshold | floats:9x7x16 | 0=0.2
Tile | floats:9x7x4 | 0={0..2} 1=2
UnaryOp | floats:9x7x16 | 0={0,1,2,3,4,7,9,10,11,12,13,14,16,18,19,20,21,22,23,24}
UnaryOp | positives:9x7x12 | 0={5,6,8,15,17,25,26,27}
Unfold | floats:12x12x8 | 1=3 4={1,-233} 18=0.5
YoloDetectionOutput | floats:7x7x16 | 0=3 1=2 2=0.01 3=0.45 -23304=4,1.0,1.5,2.0,2.5
Yolov3DetectionOutput | floats:7x7x16 floats:14x14x16 | 0=3 1=2 2=0.01 3=0.45 -23304=8,10.0,14.0,23.0,27.0,37.0,58.0,81.0,82.0 -23305=4,2.0,3.0,0.0,1.0 -23306=2,32.0,16.0
"""
ACTIVATIONS = ["9=0", "9=1", "9=2 -23310=1,0.1", "9=3 -23310=2,-0.2,0.3", "9=4", "9=5", "9=6 -23310=2,0.2,0.5"]
REQUANTIZE = ["3=0", "3=1", "3=2 -23304=1,0.1", "3=3 -23304=2,-0.2,0.3", "3=4", "3=5", "3=6 -23304=2,0.2,0.5"]
# Types that no network of one layer shows, and why.
NOT_ALONE = {
    "Input": "every network has it",
    "ArgMax": "ncnn's CMake leaves it out unless asked",
    "SPP": "ncnn's CMake leaves it out unless asked",
}


def choices(text):
    """The alternatives that {…} stands for."""
    if text == "a":
        return ACTIVATIONS
    if text == "requantize":
        return REQUANTIZE
    if ".." in text:
        first, last = text.split("..")
        return [str(n) for n in range(int(first), int(last) + 1)]
    return text.split(",")


def expand(row):
    """All rows that one row stands for."""
    together = re.findall(r"\[(.*?)\]", row)
    if together:
        for values in zip(*(text.split(",") for text in together), strict=True):
            remaining = iter(values)
            yield from expand(re.sub(r"\[.*?\]", lambda _: next(remaining), row))
        return
    start = row.find("{")
    if start < 0:
        yield row
        return
    end = row.index("}", start)
    for choice in choices(row[start + 1:end]):
        yield from expand(row[:start] + choice + row[end + 1:])


def networks():
    """(name, type, text of the .param file) of each network."""
    count = {}
    for line in LAYERS.strip().splitlines():
        for row in expand(line):
            fields = [field.strip() for field in row.split("|")]
            kind, inputs, parameters = fields[0], fields[1].split(), fields[2]
            tops = int(fields[3]) if len(fields) > 3 else 1
            names = [f"{name}#{inputs[:at].count(name)}" if name in inputs[:at] else name for at, name in enumerate(inputs)]
            layers = [f"Input in{at} 0 1 {name}" for at, name in enumerate(names)]
            outputs = [f"out{at}" for at in range(tops)]
            layers.append(" ".join([kind, "layer", str(len(names)), str(tops), *names, *outputs, parameters]).strip())
            number = count[kind] = count.get(kind, 0) + 1
            text = "\n".join(["7767517", f"{len(layers)} {len(names) + tops}", *layers]) + "\n"
            yield f"{kind}-{number}", kind, text


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name, _, text in networks():
        (directory / f"{name}.param").write_text(text)
