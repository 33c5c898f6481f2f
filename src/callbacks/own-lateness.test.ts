// The engine with the real transport, while its own event loop is held up again and again: it lets few requests out,
// counts those that it lost, and sends the rest when it can. Real time, some seconds of it.

import { ok } from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../test/support/log.ts";
import { addDeliveries, addProgramme } from "../../test/support/rows.ts";
import { startShop } from "../../test/support/shop.ts";
import { openStore } from "../../test/support/test-database.ts";
import { until } from "../../test/support/until.ts";
import { parseRange } from "../domain/address.ts";
import { SEALING_IV_BYTES, SEALING_KEY_BYTES, sealSecret } from "../domain/sealing.ts";
import { realClock } from "../outside/clock.ts";
import { createHttpsTransport } from "../outside/https-transport.ts";
import { createLoad } from "../outside/load.ts";
import { createRandom } from "../outside/random.ts";
import { givenWire } from "../store/known-wire.ts";
import { Engine } from "./engine.ts";
import { createPass } from "./pass.ts";

const SEALING_KEY = new Uint8Array(SEALING_KEY_BYTES).fill(7);
const PROGRAMMES = 50;
const DELIVERIES = PROGRAMMES * 6;
/** Shorter than the contract's, so that four stalls use it up: a new connection needs the loop as often. */
const DEADLINE_MS = 1_600;
const STALL_MS = 500;
const STALLS = 12;
/** At first as many as a busy process has; then 32, 16, and 8 for each second. All the time 64 would be 192. */
const mostBegun = (forMs: number): number => 64 + 32 + 16 + 8 * Math.ceil(forMs / 1_000);

test("while our loop is late few requests go out, those lost are counted, and the rest is delivered", async (t) => {
	const store = openStore("SQLite", ":memory:");
	await store.migrate(Date.now());
	const shop = await startShop();
	const random = createRandom();
	const loopback = parseRange("127.0.0.0/8");
	ok(loopback);
	const transport = createHttpsTransport({
		allowedPrivateRanges: [loopback],
		trustedCa: shop.caPem,
		deadlineMs: DEADLINE_MS,
	});
	for (let number = 0; number < PROGRAMMES; number++) {
		const programme = await addProgramme(store);
		const sealed = sealSecret(SEALING_KEY, programme.id, "rbs_1", random.bytes(SEALING_IV_BYTES));
		await store.db
			.updateTable("signing_secrets")
			.set({ sealed })
			.where("receiver_id", "=", programme.id)
			.execute();
		await addDeliveries(store, programme, ...Array<number>(DELIVERIES / PROGRAMMES).fill(Date.now()));
	}
	await store.db.updateTable("endpoints").set({ url: shop.url() }).execute();
	const load = createLoad();
	let begun = 0;
	const engine = new Engine({
		store,
		clock: realClock,
		random,
		transport: {
			post(request) {
				begun++;
				return transport.post(request);
			},
		},
		sealingKey: SEALING_KEY,
		log: createLog(),
		wire: givenWire("Service"),
		caps: { perProgramme: 8, overall: 512 },
		runPass: createPass(store, random),
		load,
		onNotice: () => undefined,
	});
	t.after(async () => {
		await engine.stop();
		load.stop();
		await transport.close();
		await shop.close();
		await store.close();
	});

	await until(() => begun > 0);
	const startedMs = performance.now();
	for (let stall = 0; stall < STALLS; stall++) {
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS);
		await new Promise((resolve) => setImmediate(resolve));
	}
	const begunWhileLate = begun;
	const most = mostBegun(performance.now() - startedMs);
	const countAttempts = async (result: "answered" | "timeout"): Promise<number> => {
		const query = store.db.selectFrom("attempts").select("result").where("result", "=", result);
		return (await query.execute()).length;
	};
	await until(
		async () => (await countAttempts("answered")) + (await countAttempts("timeout")) === DELIVERIES,
	);
	const lost = await countAttempts("timeout");
	t.diagnostic(`${begunWhileLate} begun while late, ${lost} lost`);
	ok(begunWhileLate <= most, `${begunWhileLate} begun, at most ${most}`);
	// On a busy machine others run out of time behind their last byte: of those nobody knows whose fault it was.
	const { lostToLateness } = engine.counters;
	ok(lostToLateness > 0 && lostToLateness <= lost, `${lostToLateness} of ${lost} are counted`);
});
