// Tests the checklist of an integration on both databases. The tests show what completes each check, and that a
// completed check stays so.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { decidedAnswer } from "#core/api/answers.ts";
import type { SharedCall } from "#core/api/call-plan.ts";
import { storeCalls } from "#core/api/store-calls.ts";
import { createPass } from "#core/callbacks/pass.ts";
import { refuseBusy } from "#core/conversions/order-request.ts";
import { reportRequest } from "#core/conversions/record.ts";
import type { Report } from "#core/conversions/report.ts";
import { succeed } from "#core/domain/fault.ts";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { issueKey, MAX_USABLE_KEYS, revokeKey } from "#core/programmes/keys.ts";
import { findNewestTest } from "#core/store/queries/conversions.ts";
import { readIntegrationChecks } from "#core/store/queries/first-times.ts";
import { listApiKeys } from "#core/store/queries/keys.ts";
import { findProgrammesById, type Programme } from "#core/store/queries/programmes.ts";
import type { Settlement } from "#core/store/queries/queue.ts";
import type { Store } from "#core/store/store.ts";
import { CHANGES } from "../../src/modules.ts";
import { createRandom } from "../../src/outside/random.ts";
import { setProgramme } from "../support/change-rows.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { recordQueries } from "../support/query-plan.ts";
import { addEngine, passInput, takeOne } from "../support/queue-rows.ts";
import { addDelivery, addProgramme, delivered, failed, newConversion } from "../support/rows.ts";

const DEPS = { clock: createClock(), random: createRandom(), changes: CHANGES };
const REPORT: Report = {
	source: "postback",
	orderId: "1",
	eventType: "SALE",
	basketValue: "10.00",
	occurredAtMs: null,
	isTest: false,
};
/** Number of rows, larger than the number that any check of an integration reads. */
const MANY = 1_050;

eachDatabase("the checks of an integration", (database) => {
	test("the pixel check is ticked when the shop's server reports the same order, before or after the pixel", async () => {
		const { store } = database;
		for (const sources of [["pixel", "postback"] as const, ["postback", "pixel"] as const]) {
			const programme = await addProgramme(store);
			await record(store, programme, { source: "pixel", orderId: "another" });
			for (const source of sources) {
				equal((await ticks(store, programme)).pixel, false, `before the ${source}`);
				await record(store, programme, { source });
			}
			equal((await ticks(store, programme)).pixel, true);
		}
	});

	test("the pixel check is ticked at once if the programme does not park pixel calls, but not by the order of a test", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await setProgramme(store.db, programme.id, { parks_pixels: 0 });
		await record(store, programme, { source: "test", orderId: "test-1", isTest: true });
		await record(store, programme, { source: "pixel", orderId: "test-1" });
		equal((await ticks(store, programme)).pixel, false);
		await record(store, programme, { source: "pixel" });
		equal((await ticks(store, programme)).pixel, true);
	});

	test("the callback check is ticked by the first 2xx answer, even if two engines get one at the same moment", async () => {
		const { store, rival } = database;
		const programme = await addProgramme(store);
		await addDelivery(store, programme);
		await pass(store, failed(await takeOne(store, programme.receiver_id, START_MS)));
		equal((await ticks(store, programme)).callback, false);
		for (let n = 0; n < 2; n++) await addDelivery(store, programme);
		const inHand = [
			await takeOne(store, programme.receiver_id, START_MS),
			await takeOne(rival, programme.receiver_id, START_MS),
		];
		await Promise.all(inHand.map((delivery, n) => pass(n === 0 ? store : rival, delivered(delivery))));
		equal((await ticks(store, programme)).callback, true);
	});

	test("a ticked check stays ticked, and the last test is found after more than a thousand further calls", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		equal(await findNewestTest(store.db, programme.id), undefined);
		for (const orderId of ["test-1", "test-2"])
			await record(store, programme, { source: "test", orderId, isTest: true });
		await setProgramme(store.db, programme.id, { first_signed_at_ms: START_MS });
		for (let n = 0; n < MANY; n += 50) {
			const rows = Array.from({ length: 50 }, (_, m) => n + m);
			await store.batch.write(store.db, {
				inboundCalls: rows.map(() => ({
					programme_id: programme.id,
					kind: "pixel" as const,
					method: "GET",
					target: "/pixel",
					outcome: "PARKED",
					http_status: 200,
					at_ms: START_MS,
				})),
			});
			await store.db
				.insertInto("conversions")
				.values(rows.map(() => newConversion(programme.id, { source: "pixel" })))
				.execute();
		}
		equal((await ticks(store, programme)).signed, true);
		equal((await findNewestTest(store.db, programme.id))?.order_id, "test-2");
	});

	test("checks that are already ticked cause no query and no write from the second call on", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const queries: string[] = [];
		const transact: Store["transact"] = (work) =>
			store.transact(async (trx) => {
				const recorded = recordQueries(trx);
				const done = await work(recorded.db);
				queries.push(...recorded.queries.map((query) => query.sql));
				return done;
			});
		const watched = { ...store, transact };
		const pass = createPass(watched, DEPS.random);
		for (let round = 0; round < 2; round++) {
			queries.length = 0;
			const orderId = `order ${round}`;
			await record(watched, programme, { source: "pixel", orderId });
			await record(watched, programme, { orderId });
			await addDelivery(store, programme);
			const settlements = [delivered(await takeOne(store, programme.receiver_id, START_MS))];
			await pass.run(passInput(await addEngine(store, START_MS), START_MS, { settlements }));
			equal(
				queries.some((query) => /update "?programmes"?|first_callback/.test(query)),
				round === 0,
				queries.join("\n"),
			);
			ok(queries.length > 0);
		}
	});

	test("every active key is listed, even after many newer ones were revoked, and their number is limited", async () => {
		const { store } = database;
		const deps = { ...DEPS, store, keyRing: createKeyRing([new Uint8Array(32).fill(7)]) };
		const programme = await addProgramme(store);
		const issue = async () => {
			const issued = await issueKey(deps, programme.public_id, COMMAND_LINE);
			return issued.ok ? issued.value.keyId : issued.fault.code;
		};
		const first = await issue();
		equal((await readIntegrationChecks(store.db, programme.id)).hasKey, true);
		const revoked: string[] = [];
		for (let n = 0; n < 12; n++) {
			const keyId = await issue();
			await revokeKey(deps, programme.public_id, keyId, COMMAND_LINE);
			revoked.unshift(keyId);
		}
		const listed = (await listApiKeys(store.db, programme.id, 10)).map((key) => key.public_id);
		deepEqual(listed, [first, ...revoked.slice(0, 10)]);
		for (let n = 1; n < MAX_USABLE_KEYS; n++) ok((await issue()).startsWith("key_"));
		equal(await issue(), "too_many_keys");
		equal((await listApiKeys(store.db, programme.id, 0)).length, MAX_USABLE_KEYS);
		await revokeKey(deps, programme.public_id, first, COMMAND_LINE);
		ok((await issue()).startsWith("key_"), "a revoked key makes room for a new one");
	});
});

/** Reads the programme's row and reports an order, as a call does. */
async function record(store: Store, { id }: Pick<Programme, "id">, change: Partial<Report>): Promise<void> {
	const programme = (await findProgrammesById(store.db, [id])).get(id);
	if (programme === undefined) throw new Error("the programme is gone");
	const report = { ...REPORT, ...change };
	const call: SharedCall = {
		inbound: { kind: "api", method: "POST", target: "/", requestId: null, findBlock: () => null },
		programme,
		caller: null,
		orderId: report.orderId,
		requests: [reportRequest(DEPS, programme, report)],
		answer: ([decided = refuseBusy()]) =>
			decided.ok ? succeed(decidedAnswer(decided.value, programme)) : decided,
	};
	let isAccepted = false;
	const { failure } = await storeCalls({ ...DEPS, store }, [call], 1_000, ({ results }) => {
		isAccepted = results.get(call)?.ok === true;
	});
	ok(failure === null && isAccepted);
}

async function pass(store: Store, settlement: Settlement): Promise<void> {
	const pass = createPass(store, DEPS.random);
	await pass.run(passInput(await addEngine(store, START_MS), START_MS, { settlements: [settlement] }));
}

async function ticks(store: Store, { id }: Pick<Programme, "id">) {
	const checks = await readIntegrationChecks(store.db, id);
	return { signed: checks.hasSignedRequest, pixel: checks.hasPixel, callback: checks.hasCallback };
}
