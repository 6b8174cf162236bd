
a/host:metadata":6jit_f(7)*(2$
"
me
e
p	parameter˜(0*	Hlo Proto