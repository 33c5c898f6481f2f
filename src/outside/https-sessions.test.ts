import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { HOUR_MS, MINUTE_MS } from "#core/domain/time.ts";
import { createTlsSessions, type TlsSession } from "./https-sessions.ts";

const START_MS = Date.UTC(2026, 10, 19);
const MOST = 10_000;

suite("a TLS session", () => {
	test("is given out once, for its route only", () => {
		const { sessions, make } = open();
		const session = make();
		sessions.keep("a", [session]);
		assert.deepEqual(sessions.take("b"), []);
		assert.deepEqual(sessions.take("a"), [session]);
		assert.deepEqual(sessions.take("a"), []);
	});

	test("makes way for the two newest of its connection, and for those of a later connection", () => {
		const { sessions, make } = open();
		const [first, second, third] = [make(), make(), make()];
		sessions.keep("a", [first, second, third]);
		assert.deepEqual(sessions.take("a"), [second, third]);
		sessions.keep("a", [first, second]);
		sessions.keep("a", [third]);
		assert.deepEqual(sessions.take("a"), [third]);
	});

	test("is not lost if a later connection has none", () => {
		const { sessions, make } = open();
		const session = make();
		sessions.keep("a", [session]);
		sessions.keep("a", []);
		assert.deepEqual(sessions.take("a"), [session]);
	});

	test("is gone once the sessions of its route are forgotten", () => {
		const { sessions, make } = open();
		const session = make();
		for (const key of ["a", "b"]) sessions.keep(key, [session]);
		sessions.forget("a");
		assert.deepEqual(sessions.take("a"), []);
		assert.deepEqual(sessions.take("b"), [session]);
	});

	for (const [what, passedMs, isUsed] of [
		["is used until its certificate was checked an hour ago", HOUR_MS - 1, true],
		["is not used from then on", HOUR_MS, false],
		["is not used if the clock was set back behind the check", -1, false],
	] as const) {
		test(what, () => {
			const { sessions, make, move } = open();
			sessions.keep("a", [make()]);
			move(passedMs);
			assert.equal(sessions.take("a").length, isUsed ? 1 : 0);
		});
	}

	test("is not used once its certificate has expired", () => {
		for (const [passedMs, isUsed] of [
			[MINUTE_MS - 1, true],
			[MINUTE_MS, false],
		] as const) {
			const { sessions, make, move } = open();
			sessions.keep("a", [make({ expiresAtMs: START_MS + MINUTE_MS })]);
			move(passedMs);
			assert.equal(sessions.take("a").length, isUsed ? 1 : 0);
		}
	});

	test("is not stored if it is large, or if the end of its certificate cannot be read", () => {
		const { sessions, make } = open();
		sessions.keep("large", [make({ bytes: 8 * 1_024 + 1 })]);
		sessions.keep("endless", [make({ expiresAtMs: Number.NaN })]);
		assert.deepEqual(sessions.take("large"), []);
		assert.deepEqual(sessions.take("endless"), []);
	});

	test("makes way for others if 10,000 routes got one after it", () => {
		const { sessions, make } = open();
		for (let number = 0; number <= MOST; number++) sessions.keep(String(number), [make()]);
		assert.deepEqual(sessions.take("0"), []);
		assert.equal(sessions.take("1").length, 1);
		assert.equal(sessions.take(String(MOST)).length, 1);
	});
});

function open() {
	let nowMs = START_MS;
	return {
		sessions: createTlsSessions(() => nowMs),
		move(ms: number) {
			nowMs += ms;
		},
		make: ({ bytes = 1, expiresAtMs = Number.POSITIVE_INFINITY } = {}): TlsSession => ({
			bytes: Buffer.alloc(bytes),
			check: { atMs: nowMs, expiresAtMs },
		}),
	};
}
