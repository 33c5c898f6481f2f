"""Keeps the click ID of a partner's link: PORT=3000 python3 click.py, behind your TLS proxy.

In production: the same two steps in your framework.
"""
import os, re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COOKIE = "rbclick={}; Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax"
IN_ADDRESS = re.compile(r"[?&]rbclick=([A-Za-z0-9_.-]{1,400})(?:&|$)")
IN_COOKIES = re.compile(r"(?:^|; *)rbclick=([A-Za-z0-9_.-]+)")


class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        # On every page: keep the click ID, if the visitor comes by a partner's link.
        clicked = IN_ADDRESS.search(self.path)
        if clicked:
            self.send_header("Set-Cookie", COOKIE.format(clicked[1]))
        self.end_headers()
        # At the checkout: send it with the signed sale, as "clickId" beside "orderId".
        kept = clicked or IN_COOKIES.search(self.headers.get("Cookie", ""))
        click_id = kept[1] if kept else None
        self.wfile.write(f"clickId: {click_id or 'none'}\n".encode())


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 3000))), Shop).serve_forever()
