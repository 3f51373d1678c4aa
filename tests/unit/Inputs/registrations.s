# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What compilers write seldom. `reg` takes a key and a function, `regs` an array of both and its length.
.macro function name
  .section .text.\name, "ax", @progbits
  .type \name, @function
\name:
.endm
.macro end name
  .size \name, . - \name
.endm
.macro key
  lea key(%rip), %rdi
.endm
.macro array where
  lea \where, %rdi
  mov $1, %esi
  call regs
.endm
.macro pair section
  .p2align 4
  .quad key, f
.endm

.section .rodata.str1.1, "aMS", @progbits, 1
key: .asciz "key"
key2: .asciz "key2"
.section .rodata
empty: .byte 0
control: .asciz "a\nb"
sized: .ascii "sizedkey"
relocated: .quad f
  .byte 0
unterminated: .ascii "abc"
.data
writableString: .asciz "key"
.section .data.rel.ro, "aw", @progbits
pool1: pair
pool2: pair
pool3: pair
pool4: pair
pool5: pair
pool6: pair
shared: pair
key_alone: .quad key

function simple
  key
  mov f@GOTPCREL(%rip), %rsi
  call *reg@GOTPCREL(%rip)
  ret
end simple

function through_register
  push %rbx
  mov reg@GOTPCREL(%rip), %rbx
  key
  mov f@GOTPCREL(%rip), %rsi
  call *%rbx
  pop %rbx
  ret
end through_register

function tail
  key
  mov f@GOTPCREL(%rip), %rsi
  jmp reg
end tail

function conditional_tail
  key
  mov f@GOTPCREL(%rip), %rsi
  test %eax, %eax
  jne reg
  ret
end conditional_tail

function stack_pushed
  mov f@GOTPCREL(%rip), %rax
  push %rax
  lea key(%rip), %rax
  push %rax
  array (%rsp)
  add $16, %rsp
  ret
end stack_pushed

function realigned
  push %rbp
  mov %rsp, %rbp
  sub $64, %rsp
  and $-32, %rsp
  lea key(%rip), %rax
  mov %rax, (%rsp)
  mov f@GOTPCREL(%rip), %rax
  mov %rax, 8(%rsp)
  array (%rsp)
  leave
  ret
end realigned

function unpacked
  sub $24, %rsp
  lea key(%rip), %rax
  movq %rax, %xmm0
  movq f@GOTPCREL(%rip), %rcx
  movq %rcx, %xmm1
  punpcklqdq %xmm1, %xmm0
  movaps %xmm0, (%rsp)
  lea (%rsp), %rdi
  mov $1, %esi
  call _Z5typedPKvm # so that rcx is no argument
  add $24, %rsp
  ret
end unpacked

function also_argument
  sub $24, %rsp
  lea key(%rip), %rax
  mov f@GOTPCREL(%rip), %rsi
  mov %rax, (%rsp)
  mov %rsi, 8(%rsp)
  lea (%rsp), %rdi
  call regs_one
  add $24, %rsp
  ret
end also_argument

function halves
  sub $24, %rsp
  movq key_alone(%rip), %xmm0
  movhps pool1+8(%rip), %xmm0
  movaps %xmm0, %xmm3
  movlps %xmm3, (%rsp)
  movhps %xmm3, 8(%rsp)
  array (%rsp)
  add $24, %rsp
  ret
end halves

function inserted
  sub $24, %rsp
  lea key(%rip), %rax
  movq %rax, %xmm0
  mov f@GOTPCREL(%rip), %rax
  pinsrq $1, %rax, %xmm0
  movdqu %xmm0, (%rsp)
  array (%rsp)
  add $24, %rsp
  ret
end inserted

function copied_pool
  sub $24, %rsp
  movdqa pool2(%rip), %xmm1
  movups %xmm1, (%rsp)
  array (%rsp)
  add $24, %rsp
  ret
end copied_pool

function copied_string
  sub $24, %rsp
  mov %rsp, %rdi
  lea pool3(%rip), %rsi
  mov $2, %ecx
  rep movsq
  array (%rsp)
  add $24, %rsp
  ret
end copied_string

function copied_call
  sub $24, %rsp
  mov %rsp, %rdi
  lea pool4(%rip), %rsi
  mov $16, %edx
  call memcpy
  array (%rsp)
  add $24, %rsp
  ret
end copied_call

function frame_after_branch
  push %rbp
  mov %rsp, %rbp
  sub $16, %rsp
  test %edi, %edi
  je 1f
  call other
1:lea key(%rip), %rax
  mov %rax, -16(%rbp)
  mov f@GOTPCREL(%rip), %rax
  mov %rax, 8(%rsp)
  array -16(%rbp)
  leave
  ret
end frame_after_branch

# --- Not certain --------------------------------------------------------------------------------------------------

function at_label
  key
1:mov f@GOTPCREL(%rip), %rsi
  call reg
  test %eax, %eax
  jne 1b
  ret
end at_label

function entered # by the function that follows
  key
entered_here:
  mov f@GOTPCREL(%rip), %rsi
  call reg
  ret
end entered

function enters
  lea key2(%rip), %rdi
  jmp entered_here
end enters

function jumps_indirectly
  jmp *%rax
  key
  mov f@GOTPCREL(%rip), %rsi
  call reg
  ret
end jumps_indirectly

function after_call
  key
  call other
  mov f@GOTPCREL(%rip), %rsi
  call reg
  ret
end after_call

function selected
  key
  mov f@GOTPCREL(%rip), %rsi
  cmove %rax, %rsi
  call reg
  ret
end selected

function partly_overwritten
  key
  mov f@GOTPCREL(%rip), %rsi
  mov $1, %sil
  call reg
  ret
end partly_overwritten

function stored_over
  sub $24, %rsp
  movaps pool5(%rip), %xmm0
  movaps %xmm0, (%rsp)
  movl $0, 12(%rsp)
  array (%rsp)
  add $24, %rsp
  ret
end stored_over

function stored_through_pointer
  sub $24, %rsp
  movaps pool6(%rip), %xmm0
  movaps %xmm0, (%rsp)
  mov %rax, (%rdx)
  array (%rsp)
  add $24, %rsp
  ret
end stored_through_pointer

function changed_by_call
  sub $24, %rsp
  mov %rsp, %rdi
  movups pool6(%rip), %xmm0
  movups %xmm0, (%rdi)
  call other
  array (%rsp)
  add $24, %rsp
  ret
end changed_by_call

function count_unknown
  lea pool5(%rip), %rdi
  mov %eax, %esi
  call regs
  ret
end count_unknown

function count_too_large
  lea pool5(%rip), %rdi
  mov $1000000000, %esi
  call regs
  ret
end count_too_large

# --- Strings ------------------------------------------------------------------------------------------------------

.macro string name
function string_\name
  lea \name(%rip), %rdi
  mov f@GOTPCREL(%rip), %rsi
  call reg
  ret
end string_\name
.endm
string empty
string control
string relocated
string unterminated
string writableString
string undefined

function sized_string
  mov $5, %edi
  lea sized(%rip), %rsi
  mov f@GOTPCREL(%rip), %rdx
  jmp reg_sized
end sized_string

function sized_too_far
  mov $500, %edi
  lea sized(%rip), %rsi
  mov f@GOTPCREL(%rip), %rdx
  jmp reg_sized
end sized_too_far

# --- The function is used otherwise, too ----------------------------------------------------------------------------

function also_called
  push %rbx
  mov f@GOTPCREL(%rip), %rbx
  key
  mov %rbx, %rsi
  call reg
  call *%rbx
  pop %rbx
  ret
end also_called

function also_compared
  key
  mov f@GOTPCREL(%rip), %rsi
  cmp %rsi, %rax
  call reg
  ret
end also_compared

function also_stored
  key
  mov f@GOTPCREL(%rip), %rsi
  mov %rsi, variable(%rip)
  call reg
  ret
end also_stored

function also_returned
  push %rbx
  mov f@GOTPCREL(%rip), %rbx
  key
  mov %rbx, %rsi
  call reg
  mov %rbx, %rax
  pop %rbx
  ret
end also_returned

function also_passed
  key
  mov f@GOTPCREL(%rip), %rsi
  mov %rsi, %rdx
  call reg
  ret
end also_passed

function also_kept # over a branch
  push %rbx
  mov f@GOTPCREL(%rip), %rbx
  key
  mov %rbx, %rsi
  call reg
  test %eax, %eax
  je 1f
  call other
1:mov %rbx, %rdi
  call other
  pop %rbx
  ret
end also_kept

function also_unwound # to code that only the unwinder reaches
  push %rbx
  mov f@GOTPCREL(%rip), %rbx
  key
  mov %rbx, %rsi
  call reg
  pop %rbx
  ret
  mov %rbx, %rdi
  call other
  ud2
end also_unwound

function pool_shared
  sub $24, %rsp
  movaps shared(%rip), %xmm0
  movaps %xmm0, (%rsp)
  array (%rsp)
  add $24, %rsp
  ret
end pool_shared

function pool_sharer
  sub $24, %rsp
  movaps shared(%rip), %xmm0
  movaps %xmm0, (%rsp)
  mov %rsp, %rdi
  call other
  add $24, %rsp
  ret
end pool_sharer

# Neither needs a relocation.
.section .text.local_once, "ax", @progbits
  .type local_f, @function
local_f:
  ret
  .size local_f, 1
  .type local_once, @function
local_once:
  key
  lea local_f(%rip), %rsi
  jmp reg
  .size local_once, . - local_once
  .type local_twice, @function
local_twice:
  call local_f
  key
  lea local_f(%rip), %rsi
  jmp reg
  .size local_twice, . - local_twice

# Calls of a callee in the same section have none either.
.section .text.local_callee, "ax", @progbits
  .type reg_local, @function
reg_local:
  ret
  .size reg_local, 1
  .type calls_local, @function
calls_local:
  key
  mov f@GOTPCREL(%rip), %rsi
  call reg_local
  ret
  .size calls_local, . - calls_local

.bss
variable: .quad 0
