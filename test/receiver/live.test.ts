// Tests that a real Ringback delivers to the packed receiver, through the shop's TLS front, which forwards
// every byte unchanged to a plain node:http server.

import { deepEqual } from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request as open, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { PostbackEvent, StoreEvent } from "@ringback/receiver";
import { installPackage } from "../support/packed-package.ts";
import { portOf } from "../support/port-of.ts";
import { eachService } from "../support/running-service.ts";
import type { AnswerRequest, ShopRequest } from "../support/shop.ts";
import type { ShopProgramme } from "../support/shop-programme.ts";

let folder: string;
let library: typeof import("@ringback/receiver");

before(async () => {
	folder = mkdtempSync(join(tmpdir(), "ringback-live-receiver-"));
	await installPackage(folder);
	const entry = join(folder, "node_modules/@ringback/receiver/index.js");
	library = await import(pathToFileURL(entry).href);
});

after(() => {
	rmSync(folder, { recursive: true });
});

eachService("the packed receiver of a shop", (running) => {
	let programme: ShopProgramme;
	let server: Server;
	let worked: PostbackEvent[];
	let store: StoreEvent;

	before(async () => {
		server = createServer();
		server.listen(0, "127.0.0.1");
		await once(server, "listening");
	});
	after(async () => {
		const closed = once(server, "close");
		server.close();
		server.closeAllConnections();
		await closed;
	});
	beforeEach(async () => {
		programme = await running.openProgramme();
		worked = [];
		store = library.createMemoryStore();
		server.removeAllListeners("request");
		const receiver = library.createReceiver({
			secret: () => programme.secret,
			now: () => running.clock.nowMs(),
			onEvent: (event) => worked.push(event),
			store: (event) => store(event),
			onRefused: () => undefined,
			onError: () => undefined,
		});
		server.on("request", receiver.node);
		programme.answer = handOn(server);
	});

	test("the packed receiver processes every event of a conversion's life once, and they count as delivered", async () => {
		await programme.record("LIVE-1");
		await programme.settled();
		await programme.approve("LIVE-1");
		await programme.settled();
		await programme.reverse("LIVE-1", "RETURN");
		await programme.settled();
		deepEqual(
			worked.map(({ event, orderId, status, reason }) => [event, orderId, status, reason]),
			[
				["conversion.recorded", "LIVE-1", "RECORDED", null],
				["conversion.approved", "LIVE-1", "APPROVED", null],
				["conversion.reversed", "LIVE-1", "REVERSED", "RETURN"],
			],
		);
		deepEqual(await endings(programme), ["delivered 204", "delivered 204", "delivered 204"]);
	});

	test("a receiver that cannot store an event gets a retry after a minute and then processes the event once", async () => {
		let failures = 2;
		const working = library.createMemoryStore();
		store = (event) => (failures-- > 0 ? Promise.reject(new Error("no disk")) : working(event));
		await programme.record("LIVE-2");
		await programme.settled();
		deepEqual([await endings(programme), worked.length], [["pending 503"], 0]);
		await programme.retryNow();
		deepEqual([await endings(programme), worked.length], [["pending 503"], 0]);
		await programme.retryNow();
		deepEqual([await endings(programme), worked.length], [["delivered 204"], 1]);
	});

	test("a receiver whose first answer was lost answers the repeated delivery and does not process it again", async () => {
		let isFirst = true;
		const handOver = handOn(server, (status) => {
			const isLost = isFirst;
			isFirst = false;
			return isLost ? null : status;
		});
		programme.answer = handOver;
		await programme.record("LIVE-3");
		await programme.settled();
		deepEqual([await endings(programme), worked.length], [["pending null"], 1]);
		await programme.retryNow();
		deepEqual([await endings(programme), worked.length], [["delivered 204"], 1]);
	});
});

async function endings(programme: ShopProgramme): Promise<string[]> {
	const deliveries = await programme.deliveries();
	return deliveries.map(({ state, last_http_status }) => `${state} ${last_http_status}`);
}

/**
 * Returns a handler that forwards each request to the plain server and answers with its status. If `change`
 * returns null, the handler closes the connection instead.
 */
function handOn(
	server: Server,
	change: (status: number) => number | null = (status) => status,
): AnswerRequest {
	return ({ method, path, rawHeaders, body }: ShopRequest) => ({
		raw: (socket) => {
			// The length is computed again for the forwarded body. All other headers are forwarded unchanged.
			const headers = rawHeaders.filter(
				(_, index) => !/^(?:content-length|connection)$/i.test(rawHeaders[index - (index % 2)] ?? ""),
			);
			const options = { port: portOf(server), host: "127.0.0.1", method, path, agent: false };
			const sending = open({ ...options, headers: [...headers, "content-length", String(body.length)] });
			sending.on("error", () => socket.destroy());
			sending.on("response", (response) => {
				response.resume();
				const status = change(response.statusCode ?? 0);
				if (status === null) socket.destroy();
				else socket.end(`HTTP/1.1 ${status} Handed On\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
			});
			sending.end(body);
		},
	});
}
