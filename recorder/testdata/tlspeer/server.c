// A server with TLS by OpenSSL, one connection at a time, that answers each
// request by "HTTP/1.1 200 OK" and the request's target. It is given a port, a
// certificate and its key. The prototypes are here so that the library's
// headers are not needed.
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_method_st SSL_METHOD;

const SSL_METHOD *TLS_server_method(void);
SSL_CTX *SSL_CTX_new(const SSL_METHOD *);
int SSL_CTX_use_certificate_file(SSL_CTX *, const char *, int);
int SSL_CTX_use_PrivateKey_file(SSL_CTX *, const char *, int);
SSL *SSL_new(SSL_CTX *);
int SSL_set_fd(SSL *, int);
int SSL_accept(SSL *);
int SSL_read(SSL *, void *, int);
int SSL_write(SSL *, const void *, int);
int SSL_shutdown(SSL *);
void SSL_free(SSL *);

// The same memory for all connections: what a failed read leaves in it is of
// another.
static char buf[65536];

static void serve(SSL *ssl)
{
	char answer[4096], target[1024];
	int n;

	while ((n = SSL_read(ssl, buf, sizeof(buf) - 1)) > 0) {
		buf[n] = 0;
		if (sscanf(buf, "%*s %1000s", target) != 1)
			return;
		n = snprintf(answer, sizeof(answer), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(target), target);
		SSL_write(ssl, answer, n);
	}
}

int main(int argc, char **argv)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int yes = 1, l = socket(AF_INET, SOCK_STREAM, 0);

	if (argc < 4 || SSL_CTX_use_certificate_file(ctx, argv[2], 1) != 1 || SSL_CTX_use_PrivateKey_file(ctx, argv[3], 1) != 1)
		return 2;
	addr.sin_port = htons(atoi(argv[1]));
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(l, (struct sockaddr *)&addr, sizeof(addr)) || listen(l, 64))
		return 3;
	for (;;) {
		int c = accept(l, NULL, NULL);
		SSL *ssl = SSL_new(ctx);

		SSL_set_fd(ssl, c);
		if (SSL_accept(ssl) == 1)
			serve(ssl);
		SSL_shutdown(ssl);
		SSL_free(ssl);
		close(c);
	}
}
