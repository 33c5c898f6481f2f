import assert from "node:assert/strict";
import { test } from "node:test";
import { createClock } from "../../../test/support/clock.ts";
import { createApp } from "../../app.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { createStoringWatch } from "./health.ts";
import { MAX_REFUSALS_WAITING, PROGRAMME_REFUSALS, STRANGERS_REFUSALS } from "./inbound-log.ts";
import { MAX_BODY_BYTES } from "./read-request.ts";
import { openTestShop, read, type TestShop } from "./test-shop.test-support.ts";

const SALE = { orderId: "A-1", basketValue: "100.00" };

async function failWith(t: Parameters<typeof openTestShop>[0], error: Error): Promise<TestShop> {
	return openTestShop(t, {
		change: ({ store }) => ({ store: { ...store, transact: () => Promise.reject(error) } }),
	});
}

/**
 * Dependencies of a service that is stopping, because such a service delays no refusals. The clock of these tests does
 * not move, so a delayed refusal would never be answered.
 */
const STOPPING = { stopSignal: AbortSignal.abort() };

test("an unexpected failure is answered with internal and no details, and is in both logs", async (t) => {
	const shop = await failWith(t, new Error("insert into secret_table failed"));
	const { status, json } = await shop.call("POST", "/v1/conversions", { body: SALE });
	assert.equal(status, 500);
	assert.equal(json.code, "internal");
	assert.doesNotMatch(JSON.stringify(json), /secret_table|at .*\.ts/);
	assert.equal(shop.complaints.length, 1);
	assert.deepEqual(
		(await shop.inbound()).map(({ outcome, http_status }) => [outcome, http_status]),
		[["internal", 500]],
	);
});

test("if the database is out of reach, read-only or full, a call is answered with unavailable and Retry-After", async (t) => {
	// 53100 is PostgreSQL's error code for a full disk, and 25006 its code for a read-only server such as a
	// standby.
	const postgresCodes = ["57P01", "08006", "53100", "40P01", "40001", "25006", "25P04", "58030"];
	const codes = ["ECONNREFUSED", ...postgresCodes].map((code) => ({ code }));
	// The codes mean busy, read-only, I/O error, full, cannot open, and SQLITE_IOERR_READ, which is an extended
	// code of the I/O error.
	const sqliteCodes = [5, 8, 10, 13, 14, 266].map((errcode) => ({ code: "ERR_SQLITE_ERROR", errcode }));
	for (const fields of [...codes, ...sqliteCodes]) {
		const shop = await failWith(t, Object.assign(new Error("not now"), fields));
		const { status, headers, json } = await shop.call("POST", "/v1/conversions", { body: SALE });
		const answer = [status, json.code, headers.get("retry-after")];
		assert.deepEqual(answer, [503, "unavailable", "5"], JSON.stringify(fields));
		assert.equal((await shop.inbound()).at(-1)?.outcome, "unavailable");
	}
});

test("three batches in a row that a full database refuses make storing fail, until one is stored or time has passed", () => {
	const clock = createClock();
	let checks = 0;
	const storing = createStoringWatch(clock, () => {
		checks += 1;
	});
	const full = Object.assign(new Error("full"), { code: "53100" });
	const held = Object.assign(new Error("held"), { code: "55P03" });
	const after = (...results: readonly unknown[]) => {
		for (const result of results) storing.note(result);
		return storing.isFailing();
	};
	assert.equal(after(full, full, held, new Error("ours")), false);
	assert.equal(after(full), true);
	assert.equal(after(null), false);
	assert.equal(after(full, full, full), true);
	assert.equal(checks, 2, "the database is to be checked once each time");
	return clock.moveBy(10_000).then(() => assert.equal(storing.isFailing(), false, "tried again"));
});

test("a signed call is answered with unavailable while the clock is uncertain, and the same call is accepted afterwards", async (t) => {
	let isSure = false;
	const shop = await openTestShop(t, {
		change: ({ clock }) => ({ clock: { ...clock, isSure: () => isSure } }),
	});
	const before = await shop.stored();
	const call = { body: SALE, nonce: "sent-again-later" };
	const { status, headers, json } = await shop.call("POST", "/v1/conversions", call);
	assert.deepEqual([status, json.code, headers.get("retry-after")], [503, "unavailable", "5"]);
	assert.match(
		json.detail ?? "",
		/^Our clock is being checked.* Nothing was recorded\. Send it again later, signed anew\.$/,
	);
	assert.deepEqual(await shop.stored(), before);
	assert.deepEqual(await shop.store.db.selectFrom("nonces").selectAll().execute(), []);
	assert.deepEqual(
		(await shop.inbound()).map(({ outcome, programme_id }) => [outcome, programme_id]),
		[["unavailable", shop.programme.id]],
		"the shop's people see it",
	);
	assert.equal(
		(await shop.request("/v1/conversions")).status,
		401,
		"a call without a key gets its own refusal",
	);
	const pixel = await shop.request(`/pixel/${shop.programme.public_id}.gif?orderId=P-1&basketValue=1`);
	assert.equal(pixel.status, 200);
	assert.equal((await shop.inbound()).at(-1)?.outcome, "PARKED");
	isSure = true;
	assert.equal((await shop.call("POST", "/v1/conversions", call)).status, 201);
	assert.deepEqual(shop.complaints, []);
});

test("a statement that the database refuses is answered with internal, because a retry does not help", async (t) => {
	for (const fields of [{ code: "23505" }, { code: "ERR_SQLITE_ERROR", errcode: 19 }]) {
		const shop = await failWith(t, Object.assign(new Error("a constraint"), fields));
		const { status, json } = await shop.call("POST", "/v1/conversions", { body: SALE });
		assert.deepEqual([status, json.code], [500, "internal"], JSON.stringify(fields));
	}
});

test("a caller is answered even if every query fails", async (t) => {
	const shop = await openTestShop(t);
	await shop.store.close();
	const { json } = await shop.call("POST", "/v1/conversions", { body: SALE });
	assert.equal(json.code, "internal");
	assert.equal(shop.complaints.length, 2);
});

test("a body without a declared length is read up to the limit and then refused", async (t) => {
	const shop = await openTestShop(t);
	const chunkBytes = 16 * 1024;
	let pulled = 0;
	let isCancelled = false;
	const body = new ReadableStream({
		pull(controller) {
			pulled++;
			controller.enqueue(new Uint8Array(chunkBytes));
		},
		cancel() {
			isCancelled = true;
		},
	});
	const response = await shop.request("/v1/conversions", {
		method: "POST",
		body,
		headers: keyOf(shop),
		duplex: "half",
	});
	assert.equal((await read(response)).json.code, "body_too_large");
	assert.ok(isCancelled);
	assert.ok(pulled * chunkBytes <= MAX_BODY_BYTES + 2 * chunkBytes);
	assert.equal((await shop.inbound()).at(-1)?.outcome, "body_too_large");
});

test("a declared length above the limit is refused without reading the body", async (t) => {
	const shop = await openTestShop(t);
	const body = new ReadableStream(
		{
			pull() {
				assert.fail("the body was read");
			},
		},
		{ highWaterMark: 0 },
	);
	const headers = { ...keyOf(shop), "content-length": String(MAX_BODY_BYTES + 1) };
	const response = await shop.request("/v1/conversions", { method: "POST", body, headers, duplex: "half" });
	assert.equal((await read(response)).json.code, "body_too_large");
});

test("a body of exactly the limit is read, with or without a declared length", async (t) => {
	const shop = await openTestShop(t);
	const body = JSON.stringify(SALE).padEnd(MAX_BODY_BYTES);
	const headers = { "content-length": String(MAX_BODY_BYTES) };
	assert.equal((await shop.call("POST", "/v1/conversions", { body, headers })).json.outcome, "RECORDED");
	assert.equal((await shop.call("POST", "/v1/conversions", { body })).json.outcome, "DUPLICATE");
});

test("a body that breaks off is refused and logged as the caller's problem", async (t) => {
	const shop = await openTestShop(t);
	const body = new ReadableStream({
		pull(controller) {
			controller.error(new Error("aborted"));
		},
	});
	const response = await shop.request("/v1/conversions", {
		method: "POST",
		body,
		headers: keyOf(shop),
		duplex: "half",
	});
	assert.equal((await read(response)).json.code, "malformed_json");
	assert.deepEqual(shop.complaints, []);
});

test("concurrent refusals share inserts, each is stored before its answer, and a flood is bounded", async (t) => {
	const shop = await openTestShop(t);
	let inserts = 0;
	const db = shop.store.db.withPlugin({
		transformQuery: ({ node }) => {
			if (node.kind === "InsertQueryNode") inserts++;
			return node;
		},
		transformResult: async ({ result }) => result,
	});
	const app = createApp({ ...shop.deps, ...STOPPING, store: { ...shop.store, db } });
	const flood = MAX_REFUSALS_WAITING * 2;
	const send = () =>
		Promise.all(Array.from({ length: flood }, () => app.request("/v1/conversions", { method: "POST" })));
	assert.ok((await send()).every(({ status }) => status === 401));
	assert.ok(inserts <= 3, `${inserts} inserts`);
	const stored = (await shop.inbound()).length;
	assert.ok(stored >= MAX_REFUSALS_WAITING && stored < flood);
	// The first dropped refusal is logged at once. The next line follows a minute later and counts all refusals since
	// the first.
	const dropped = () =>
		shop.complaints.flatMap((fields) => ("dropped" in fields ? Number(fields.dropped) : []));
	assert.deepEqual(dropped(), [1]);
	shop.moveClock(MINUTE_MS);
	await send();
	assert.deepEqual(dropped(), [1, flood - stored]);
});

test("the log stores a thousand calls of strangers, then five a second, and the refusals of shops in addition", async (t) => {
	const shop = await openTestShop(t, { change: () => STOPPING });
	const { burst, perSecond } = STRANGERS_REFUSALS;
	for (let sent = 0; sent < burst + 200; sent += 100) {
		await Promise.all(Array.from({ length: 100 }, () => shop.request("/v1/conversions", { method: "POST" })));
	}
	assert.equal((await shop.inbound()).length, burst);
	const withKey = { authorization: `Bearer ${shop.credentials.key}` };
	await shop.request("/v1/conversions", { method: "POST", headers: withKey });
	assert.equal((await shop.inbound()).length, burst + 1);
	shop.moveClock(1_000);
	for (let sent = 0; sent < 2 * perSecond; sent++) await shop.request("/v1/conversions", { method: "POST" });
	assert.equal((await shop.inbound()).length, burst + 1 + perSecond);
});

test("a flood of refused calls is logged once a minute, with the number that was not stored", async (t) => {
	const shop = await openTestShop(t, { change: () => STOPPING });
	const { burst } = STRANGERS_REFUSALS;
	const stranger = () => shop.request("/v1/conversions", { method: "POST" });
	const sendMany = (count: number) => Promise.all(Array.from({ length: count }, stranger));
	const dropped = () => shop.complaints.flatMap((fields) => ("dropped" in fields ? [fields.dropped] : []));
	for (let sent = 0; sent < burst; sent += 100) await sendMany(100);
	await sendMany(50);
	for (let second = 1; second < 60; second++) {
		shop.moveClock(1_000);
		await sendMany(10);
	}
	assert.deepEqual(dropped(), [1], "not a line each second");
	shop.moveClock(1_000);
	await sendMany(10);
	assert.deepEqual(dropped(), [1, 49 + 59 * 5 + 1]);
});

test("a caller with a key but no secret cannot fill the log, and the shop's own calls stay in it", async (t) => {
	const shop = await openTestShop(t, { change: () => STOPPING });
	const headers = { authorization: `Bearer ${shop.credentials.key}` };
	const { burst } = PROGRAMME_REFUSALS;
	for (let sent = 0; sent < burst + 200; sent += 100) {
		await Promise.all(
			Array.from({ length: 100 }, () => shop.request("/v1/conversions", { method: "POST", headers })),
		);
	}
	assert.equal((await shop.inbound()).length, burst);
	const good = await shop.call("POST", "/v1/conversions", { body: SALE });
	const wrong = await shop.call("POST", "/v1/conversions", { body: { ...SALE, basketValue: "1,50" } });
	assert.deepEqual([good.json.outcome, wrong.json.code], ["RECORDED", "malformed_amount"]);
	assert.deepEqual(
		(await shop.inbound()).slice(burst).map(({ outcome, order_id }) => [outcome, order_id]),
		[
			["RECORDED", "A-1"],
			["malformed_amount", "A-1"],
		],
	);
});

/**
 * Returns a header with the shop's key. Tests need the key, because the service does not read the body of a request
 * with an unknown key.
 */
function keyOf({ credentials }: TestShop): { authorization: string } {
	return { authorization: `Bearer ${credentials.key}` };
}
