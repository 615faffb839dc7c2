package bpf

//go:generate go tool bpf2go -cc clang-19 -strip llvm-strip-19 -go-package bpf -target amd64,arm64 -no-global-types core core.bpf.c -- -O2 -mcpu=v3 -Wall -Werror

//go:generate go tool bpf2go -cc clang-19 -strip llvm-strip-19 -go-package bpf -target amd64,arm64 -no-global-types tls tls.bpf.c -- -O2 -mcpu=v3 -Wall -Werror
