import assert from "node:assert/strict";
import { test } from "node:test";
import { SECOND_MS } from "#core/domain/time.ts";
import { createClock } from "../../test/support/clock.ts";
import { createLog } from "../../test/support/log.ts";
import { createReadiness, STEADY_MS } from "./readiness.ts";

test("a database that fails now and then is not ready until it has answered steadily", async () => {
	const clock = createClock();
	const log = createLog();
	let answer: () => Promise<boolean> = async () => true;
	let usable = 0;
	const onUsable = () => {
		usable += 1;
	};
	const readiness = createReadiness({ store: { acceptsWrites: () => answer() }, clock, log, onUsable });
	assert.equal(await readiness.check(), "answers");

	answer = () => Promise.reject(Object.assign(new Error("too many clients"), { code: "53300" }));
	assert.equal(await readiness.check(), "does not answer");
	for (const _ of [1, 2, 3]) {
		answer = async () => true;
		assert.equal(await readiness.check(), "answers again");
		await clock.moveBy(STEADY_MS - 1);
		answer = () => Promise.reject(new Error("too many clients"));
		assert.equal(await readiness.check(), "does not answer");
	}
	answer = async () => true;
	await clock.moveBy(STEADY_MS - 1);
	assert.equal(await readiness.check(), "answers again");
	await clock.moveBy(1);
	assert.equal(usable, 0);
	assert.equal(await readiness.check(), "answers");
	assert.equal(readiness.last(), "answers");
	assert.equal(usable, 1, "the rest of the process hears of it once");
});

test("a database that refuses writes is read-only, whether it says so or its connection fails with that code", async () => {
	const clock = createClock();
	const log = createLog();
	const states: string[] = [];
	for (const answer of [
		async () => false,
		() => Promise.reject(Object.assign(new Error("read-only"), { code: "25006" })),
	]) {
		states.push(await createReadiness({ store: { acceptsWrites: answer }, clock, log }).check());
	}
	assert.deepEqual(states, ["is read-only", "is read-only"]);
	assert.deepEqual(
		log.lines.map(({ message }) => message),
		Array(2).fill("not ready: the database is read-only"),
	);
});

test("a change of the state is logged once, and the next check follows sooner while the database fails", async () => {
	const clock = createClock();
	const log = createLog();
	let accepts = false;
	const readiness = createReadiness({ store: { acceptsWrites: async () => accepts }, clock, log });
	for (const _ of [1, 2, 3]) await readiness.check();
	assert.equal(readiness.nextCheckMs(), 1_000);
	accepts = true;
	await clock.moveBy(STEADY_MS);
	await readiness.check();
	assert.equal(readiness.nextCheckMs(), 5_000);
	assert.deepEqual(
		log.lines.map(({ level, message }) => [level, message]),
		[
			["warn", "not ready: the database is read-only"],
			["info", "the database can be used again"],
		],
	);
});

test("a result that is less than a second old is used again, and an older one is not", async () => {
	const clock = createClock();
	let checks = 0;
	const store = {
		async acceptsWrites() {
			checks++;
			return checks === 1;
		},
	};
	const readiness = createReadiness({ store, clock, log: createLog() });
	assert.equal(await readiness.checkLately(), "answers");
	await clock.moveBy(SECOND_MS - 1);
	assert.equal(await readiness.checkLately(), "answers");
	assert.equal(checks, 1);
	await clock.moveBy(1);
	assert.equal(await readiness.checkLately(), "is read-only");
	assert.equal(checks, 2);
});
