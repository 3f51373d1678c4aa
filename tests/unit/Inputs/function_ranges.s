# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# One section for each rule of splitIntoFunctions().
.macro function name
  .type \name, @function
\name:
.endm
.macro end name
  .size \name, . - \name
.endm

.section .text.plain, "ax", @progbits
function plain_a
  call plain_c
  cmpl $0x12345678, data(%rip)
  cmpb $1, data(%rip)
  lea data(%rip), %rax
  ret
end plain_a
  .p2align 5
  int3
  .zero 3
  .p2align 4
function plain_b
  lea plain_a+1(%rip), %rax
  jmp 1f
1: ret
end plain_b
function plain_c
  jmp plain_c
end plain_c

.section .text.falls_through, "ax", @progbits
function falls_a
  xor %eax, %eax
end falls_a
  .p2align 4
function falls_b
  call undefined
end falls_b
function falls_c
  ud2
end falls_c
function falls_d
  xor %eax, %eax
end falls_d

.section .text.overlap, "ax", @progbits
function overlap_a
  nop
function overlap_b
  ret
end overlap_a
  ret
end overlap_b
function overlap_c
  jmp overlap_b
end overlap_c

.section .text.overlap_inside_instruction, "ax", @progbits
function overlap_d
  .byte 0xb8 # mov $imm, %eax
function overlap_e
  .long 0
  ret
end overlap_e
end overlap_d
function overlap_f
  ret
end overlap_f

.section .text.one, "ax", @progbits
function one
  ret
end one
  .byte 0x06 # no instruction

.section .text.undecodable, "ax", @progbits
function undecodable_a
  ret
  .byte 0x06
end undecodable_a
function undecodable_b
  ret
end undecodable_b

.section .text.cut_off, "ax", @progbits
function cut_off_a
  ret
  .byte 0xe8, 0 # a call whose target is in the next function
end cut_off_a
function cut_off_b
  ret
  .zero 3
end cut_off_b

.section .text.into_instruction, "ax", @progbits
function into_a
  jmp into_a + 3
  mov $0x11223344, %eax
  ret
end into_a
function into_b
  ret
end into_b

.section .text.relocated_opcode, "ax", @progbits
function opcode_a
  .long undefined
  ret
end opcode_a
function opcode_b
  ret
end opcode_b

.section .text.outside, "ax", @progbits
function outside_a
  ret
end outside_a
  mov %rax, %rbx
function outside_b
  ret
end outside_b

.section .text.outside_at_end, "ax", @progbits
function at_end_a
  ret
end at_end_a
function at_end_b
  ret
end at_end_b
  .long undefined

.section .text.no_size, "ax", @progbits
function no_size_a
  ret
end no_size_a
function no_size_b
  ret

.section .text.data, "ax", @progbits
function data_a
  ret
end data_a
function data_b
  ret
end data_b
  .type data_in_text, @object
data_in_text:
  .long 0
  .size data_in_text, 4

.section .text.to_padding, "ax", @progbits
function to_padding_a
  jmp 1f
end to_padding_a
  nop
1:nop
function to_padding_b
  ret
end to_padding_b

.section .text.to_own_end, "ax", @progbits
function own_end_a
  je 1f
  ret
end own_end_a
1: .p2align 4
function own_end_b
  ret
end own_end_b

.section .text.tls, "ax", @progbits
function tls_a
  .byte 0x66
  lea thread_a@tlsgd(%rip), %rdi
  .word 0x6666
  rex64
  call __tls_get_addr@PLT
  lea thread_a@tlsdesc(%rip), %rax
  call *thread_a@tlscall(%rax)
  ret
end tls_a
function tls_b
  movabs $data, %rax
  mov thread_a@tpoff(%rax), %eax
  ret
end tls_b

.data
data: .quad 0
