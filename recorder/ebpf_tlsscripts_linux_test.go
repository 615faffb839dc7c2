//go:build amd64 || arm64

package recorder

// Peers that speak TLS, in their own languages.

// pythonHTTPS is http.server over TLS: it answers with what it was asked.
const pythonHTTPS = `
import http.server, os, ssl, sys, threading
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        b = self.path.encode() + b" " + self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(len(b)))
        self.end_headers()
        self.wfile.write(b)
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
s.daemon_threads = True
ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
ctx.load_cert_chain(sys.argv[1], sys.argv[2])
if len(sys.argv) > 3: ctx.keylog_filename = sys.argv[3]
s.socket = ctx.wrap_socket(s.socket, server_side=True)
print("127.0.0.1:%d" % s.server_port, flush=True)
threading.Thread(target=s.serve_forever, daemon=True).start()
sys.stdin.read()
os._exit(0)
`

// pythonAsync is a server on one thread whose TLS is in memory BIOs.
const pythonAsync = `
import asyncio, os, ssl, sys
async def handle(r, w):
    try:
        while True:
            head = (await r.readuntil(b"\r\n\r\n")).split(b"\r\n")
            n = next(int(l.split(b":")[1]) for l in head if l.lower().startswith(b"content-length"))
            b = head[0].split(b" ")[1] + b" " + await r.readexactly(n)
            w.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(b))
            for i in range(0, len(b), 1000):
                w.write(b[i:i+1000])
                await w.drain()
    except (asyncio.IncompleteReadError, ConnectionError): pass
    w.close()
async def main():
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(sys.argv[1], sys.argv[2])
    s = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=ctx)
    print("127.0.0.1:%d" % s.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)
asyncio.run(main())
`

const aiohttpServer = `
import asyncio, os, ssl, sys
from aiohttp import web
async def handle(request):
    return web.Response(body=request.path.encode() + b" " + await request.read())
async def main():
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(sys.argv[1], sys.argv[2])
    app = web.Application()
    app.router.add_post("/{path:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=ctx).start()
    print("127.0.0.1:%d" % runner.addresses[0][1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)
asyncio.run(main())
`

const nodeHTTPS = `
const https = require("https"), fs = require("fs");
const s = https.createServer({cert: fs.readFileSync(process.argv.at(-2)), key: fs.readFileSync(process.argv.at(-1))}, (req, res) => {
  let b = req.url + " ";
  req.on("data", d => b += d);
  req.on("end", () => { res.setHeader("content-length", Buffer.byteLength(b)); res.end(b); });
});
s.listen(0, "127.0.0.1", () => console.log("127.0.0.1:" + s.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
`

// httpClient asks as Python's own client does, httpxClient and aiohttpClient from
// one thread with TLS in memory BIOs, on 50 connections.
const httpClient = `
import http.client, ssl, sys
ctx = ssl._create_unverified_context()
c = http.client.HTTPSConnection("127.0.0.1", int(sys.argv[1]), context=ctx)
for i in range(3):
    c.request("POST", "/http/%d" % i, body="x" * 5000)
    print(c.sock.getsockname()[1], c.getresponse().read().decode(), flush=True)
`

const httpxClient = `
import anyio, httpx2, sys
async def main():
    async with httpx2.AsyncClient(verify=False, limits=httpx2.Limits(max_connections=50)) as c:
        async def one(i):
            r = await c.post("https://127.0.0.1:%s/httpx/%d" % (sys.argv[1], i), content="%d;" % i * 1000)
            port = r.extensions["network_stream"].get_extra_info("client_addr")[1]
            print(port, r.text, flush=True)
        async with anyio.create_task_group() as g:
            for i in range(50): g.start_soon(one, i)
anyio.run(main)
`

const aiohttpClient = `
import aiohttp, asyncio, sys
class Response(aiohttp.ClientResponse): # keeps its port, since it lets the connection go early
    async def start(self, connection):
        self.port = connection.transport.get_extra_info("sockname")[1]
        return await super().start(connection)
async def main():
    async with aiohttp.ClientSession(response_class=Response, connector=aiohttp.TCPConnector(ssl=False, limit=50)) as c:
        async def one(i):
            async with c.post("https://127.0.0.1:%s/aiohttp/%d" % (sys.argv[1], i), data=b"%d;" % i * 1000) as r:
                print(r.port, (await r.read()).decode(), flush=True)
        await asyncio.gather(*(one(i) for i in range(50)))
asyncio.run(main())
`

// nginxTLS ends TLS in front of a server without.
const nginxTLS = `
user root; daemon off; master_process on; worker_processes 2; pid %[1]s/pid; error_log %[1]s/log;
events {}
http {
  access_log off; client_body_temp_path %[1]s; proxy_temp_path %[1]s; fastcgi_temp_path %[1]s; uwsgi_temp_path %[1]s; scgi_temp_path %[1]s;
  server { listen 127.0.0.1:%[2]d ssl; ssl_certificate %[3]s; ssl_certificate_key %[4]s;
    location / { proxy_pass http://127.0.0.1:%[5]d; proxy_http_version 1.1; proxy_buffering off; } }
}
`

// pythonRustls serves by rustls, under a name of its own.
const pythonRustls = `
import ctypes, rtls, socket, sys
ctypes.CDLL(None).prctl(15, b"rustls-serv") # PR_SET_NAME
ctx = rtls.SSLContext(rtls.PROTOCOL_TLS_SERVER)
ctx.load_cert_chain(sys.argv[1], sys.argv[2])
l = socket.create_server(("127.0.0.1", int(sys.argv[3])))
while True:
    c, _ = l.accept()
    try:
        c = ctx.wrap_socket(c, server_side=True)
        c.recv(65536)
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    except OSError: pass # who only asks whether it listens
    c.close()
`

// pythonStubborn answers a request with 8 MiB on a socket that does not block:
// each write that would block is tried again with the same bytes (case 11), and
// each read that finds nothing follows one that found something, into the same
// buffer, where another request stands (case 12).
const pythonStubborn = `
import os, select, socket, ssl, sys, threading
ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
ctx.load_cert_chain(sys.argv[1], sys.argv[2])
l = socket.create_server(("127.0.0.1", 0))
print("127.0.0.1:%d" % l.getsockname()[1], flush=True)
def serve():
    while True:
        c, _ = l.accept()
        c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 20000)
        c = ctx.wrap_socket(c, server_side=True)
        c.setblocking(False)
        got = b""
        other = b"POST /stale HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
        buf = bytearray(1000)
        while not got.endswith(b"END"):
            try:
                n = c.recv_into(buf)
                got += buf[:n]
                buf[:len(other)] = other
            except ssl.SSLWantReadError:
                print("read", len(got), flush=True)
                select.select([c], [], [])
        body = b"".join(b"%07d;" % i for i in range(1 << 20))
        out = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        while out:
            try: out = out[c.send(out[:300000]):]
            except ssl.SSLWantWriteError:
                print("full", flush=True)
                select.select([], [c], [])
        c.close()
threading.Thread(target=serve, daemon=True).start()
sys.stdin.read()
os._exit(0)
`
