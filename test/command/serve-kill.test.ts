// Kills a real service on a SQLite file in the middle of a burst. The next process must send on at once, because the
// system's lock shows that the killed one has ended. Its lease shows it much later, so the test sets the lease anew.

import { deepEqual, equal, ok } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SILENT_MS } from "#core/store/queries/queue.ts";
import { openHome } from "../support/command-home.ts";
import { prepareDatabase, withWorkplace } from "../support/prepare-database.ts";
import { startShop } from "../support/shop.ts";
import { signedRequest } from "../support/signed-request.ts";
import { until } from "../support/until.ts";

const SALES = 12;

test("after kill -9 the next process on a SQLite file sends what was in flight before the lease is over", async (t) => {
	const home = openHome(t);
	const shop = await startShop({ answer: () => "hang" });
	t.after(() => shop.close());
	const ca = join(home.folder, "ca.pem");
	writeFileSync(ca, shop.caPem);
	const settings = {
		DATABASE_URL: `sqlite:${join(home.folder, "ringback.db")}`,
		RINGBACK_SECRET_KEY: "ab".repeat(32),
		PORT: "0",
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
		RINGBACK_TRUSTED_CA: ca,
	};
	const { apiKey: key, secret } = await prepareDatabase(settings, { postbackUrl: shop.url("/") });
	const killed = home.start(["serve"], settings);
	const [, url] = await killed.said(/^Ringback listens on (\S+)$/m);
	const sell = async (orderId: string) => {
		const body = { orderId, basketValue: "10.00" };
		const signed = signedRequest("POST", "/v1/conversions", { key, secret }, { body, nowMs: Date.now() });
		const sent = { method: "POST", headers: signed.headers, body: await signed.arrayBuffer() };
		equal((await fetch(`${url}/v1/conversions`, sent)).status, 201);
	};
	const orders = Array.from({ length: SALES }, (_, n) => `order ${n}`);
	await Promise.all(orders.map(sell));
	await until(() => shop.requests.length > 0);
	killed.kill("SIGKILL");
	await killed.ended();
	const renewedAtMs = Date.now();
	await withWorkplace(settings, ({ store }) =>
		store.db.updateTable("engines").set({ renewed_at_ms: renewedAtMs }).execute(),
	);

	const arrived = new Set<string>();
	let firstAtMs = Number.POSITIVE_INFINITY;
	shop.answer = ({ body, arrivedAtMs }) => {
		firstAtMs = Math.min(firstAtMs, arrivedAtMs);
		arrived.add(JSON.parse(body.toString()).orderId);
		return { status: 204 };
	};
	const next = home.start(["serve"], settings);
	await next.said(/^Ringback listens on (\S+)$/m);
	const listensAtMs = Date.now();
	await until(() => arrived.size === SALES);
	t.diagnostic(`callbacks went on ${firstAtMs - listensAtMs} ms after the next process listened`);
	ok(firstAtMs < renewedAtMs + SILENT_MS, "before the lease was over");
	deepEqual([...arrived].sort(), orders.toSorted());
	next.kill("SIGTERM");
	await next.ended();
});
