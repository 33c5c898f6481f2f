import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { createClock } from "../../../test/support/clock.ts";
import { SECOND_MS } from "../domain/time.ts";
import { ANSWER_WITHIN_MS, answerInTime, BODY_CHECK_MS } from "./answer-deadline.ts";
import type { AppContext } from "./deps.ts";

const late = () => new Response("late");

function openCall(incoming?: object) {
	const clock = createClock();
	const work = Promise.withResolvers<Response>();
	const c = { env: { incoming } } as unknown as AppContext;
	const answer = answerInTime(c, clock, () => work.promise, late);
	return { clock, work, text: async () => (await answer).text() };
}

test("an answer that is ready before the deadline is sent as it is", async () => {
	const { clock, work, text } = openCall();
	await clock.moveBy(ANSWER_WITHIN_MS - 1);
	work.resolve(new Response("stored"));
	assert.equal(await text(), "stored");
	assert.equal(clock.waitingTimers, 0);
});

test("after the deadline the caller gets the late answer, and a stream that opens later is closed", async () => {
	const { clock, work, text } = openCall();
	await clock.moveBy(ANSWER_WITHIN_MS);
	assert.equal(await text(), "late");
	const closed = Promise.withResolvers<boolean>();
	work.resolve(new Response(new ReadableStream({ cancel: () => closed.resolve(true) })));
	assert.equal(await closed.promise, true);
});

test("a failure before the deadline is passed on, and one after it changes nothing", async () => {
	const early = openCall();
	early.work.reject(new Error("broken"));
	await assert.rejects(early.text(), /broken/);
	const { clock, work, text } = openCall();
	await clock.moveBy(ANSWER_WITHIN_MS);
	work.reject(new Error("broken"));
	assert.equal(await text(), "late");
});

test("the time for which a caller sends its body does not count", async () => {
	const incoming = { complete: false };
	const { clock, text } = openCall(incoming);
	await clock.moveBy(3 * ANSWER_WITHIN_MS);
	incoming.complete = true;
	const answered = watch(text());
	await clock.moveBy(ANSWER_WITHIN_MS - 1);
	assert.equal(answered.isAnswered, false);
	await clock.moveBy(1);
	assert.equal(await answered.promise, "late");
});

test("the time for which a body waits to be read does count", async () => {
	const incoming = Object.assign(new EventEmitter(), { complete: false });
	const { clock, text } = openCall(incoming);
	await clock.moveBy(BODY_CHECK_MS - 1);
	incoming.complete = true;
	await clock.moveBy(SECOND_MS);
	incoming.emit("end");
	const answered = watch(text());
	await clock.moveBy(ANSWER_WITHIN_MS - SECOND_MS - BODY_CHECK_MS);
	assert.equal(answered.isAnswered, false);
	await clock.moveBy(BODY_CHECK_MS);
	assert.equal(await answered.promise, "late");
});

function watch(promise: Promise<string>) {
	const watched = { isAnswered: false, promise };
	void promise.then(() => {
		watched.isAnswered = true;
	});
	return watched;
}
