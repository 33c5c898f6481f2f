// The demo's shop as a buyer sees it, one page with one product. Partner links can lead only to https
// addresses without a port, so the demo's links begin at this server. It forwards a click to the service, and
// replaces the shop's name in the redirect with the address of this page.

import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Client } from "@ringback/receiver";
import { CLICK_PARAMETER } from "#core/web/examples.ts";
import { SAMPLE_LINK } from "#modules/partners/use-cases/sample.ts";

export interface ShopPage {
	url: string;
	/** Service and client. They are null until the service runs and the programme has its key. */
	shop: { serviceUrl: string; client: Client } | null;
	close(): void;
}

const CLICKED = new RegExp(`[?&]${CLICK_PARAMETER}=([\\w.-]{1,400})(?:&|$)`);
const KEPT = new RegExp(`(?:^|; *)${CLICK_PARAMETER}=([\\w.-]+)`);
/**
 * Attributes of the cookie. `Secure` is missing, because some browsers do not accept it from
 * http://localhost.
 */
const COOKIE = "Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax";
/** Origin of the shop's page to which the sample partner's links lead. */
export const SHOP_NAME = new URL(SAMPLE_LINK.target).origin;
const PRICE = "89.00";

export async function startShopPage(): Promise<ShopPage> {
	let orders = 2000;
	const server = createServer((incoming, outgoing) => {
		answer(incoming, outgoing).catch(() => outgoing.destroy());
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	const page: ShopPage = {
		// The page uses the name localhost. With 127.0.0.1 it would share cookies with the service.
		url: `http://localhost:${port}`,
		shop: null,
		close() {
			server.close();
			server.closeAllConnections();
		},
	};

	async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
		const { url = "", method } = incoming;
		if (page.shop === null) return void outgoing.writeHead(503).end();
		const { serviceUrl, client } = page.shop;
		if (url.startsWith("/c/")) return follow(serviceUrl, incoming, outgoing);
		const [, clicked] = CLICKED.exec(url) ?? [];
		const [, kept] = KEPT.exec(incoming.headers.cookie ?? "") ?? [];
		const clickId = clicked ?? kept;
		if (clicked !== undefined) outgoing.setHeader("set-cookie", `${CLICK_PARAMETER}=${clicked}; ${COOKIE}`);
		outgoing.setHeader("content-type", "text/html; charset=utf-8");
		if (method !== "POST")
			return void outgoing.end(render(`${OFFER}${clickId === undefined ? "" : BROUGHT}`));
		const orderId = String(++orders);
		const sold = await client.record({ orderId, basketValue: PRICE, currency: "EUR", clickId });
		const said = sold.ok ? `${sold.outcome}, credit ${sold.credit}` : sold.kind;
		outgoing.end(
			render(`<h1>Thank you</h1><p>The shop reported order ${orderId}. Ringback answered: ${said}.`),
		);
	}

	function follow(serviceUrl: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
		const { method, headers } = incoming;
		const click = request(`${serviceUrl}${incoming.url}`, { method, headers }, (answered) => {
			const { location, ...others } = answered.headers;
			const led = location === undefined ? {} : { location: location.replace(SHOP_NAME, page.url) };
			outgoing.writeHead(answered.statusCode ?? 502, { ...others, ...led });
			answered.pipe(outgoing);
		});
		click.on("error", () => outgoing.destroy()).end();
	}

	return page;
}

const OFFER = `<h1>Sample shop</h1><p>A tent for two, ${PRICE} EUR.<form method="post" action="/"><button>Buy</button></form>`;
const BROUGHT = "<p>You came by a partner's link, and the shop keeps its click ID.";

function render(body: string): string {
	return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Sample shop</title>
<style>body{max-width:32rem;margin:20vh auto;padding:0 1rem;font:1.1rem/1.5 system-ui;text-align:center}button{font:inherit}</style>
${body}</html>`;
}
