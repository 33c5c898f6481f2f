// Keeps the click ID of a partner's link: PORT=3000 node click.mjs, behind your TLS proxy.
// In production: the same two steps in your shop's own server.
import { createServer } from "node:http";

const COOKIE = "Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax";

createServer((request, response) => {
	// On every page: keep the click ID, if the visitor comes by a partner's link.
	const [, clicked] = /[?&]rbclick=([\w.-]{1,400})(?:&|$)/.exec(request.url) ?? [];
	if (clicked) response.setHeader("Set-Cookie", `rbclick=${clicked}; ${COOKIE}`);

	// At the checkout: client.record({ orderId, basketValue, clickId, couponCode })
	const [, kept] = /(?:^|; *)rbclick=([\w.-]+)/.exec(request.headers.cookie ?? "") ?? [];
	const clickId = clicked ?? kept;
	response.end(`clickId: ${clickId ?? "none"}\n`);
}).listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
