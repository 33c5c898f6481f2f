// What is expected of a receiver after a request, and how its requests are made: shared by every table of cases.

import { deepEqual, equal } from "node:assert/strict";
import { until } from "../support/until.ts";
import {
	type Answered,
	type Callback,
	type CallbackOptions,
	makeCallback,
	makeEvent,
	send,
} from "./callback.ts";
import type { ExampleFolder, RunningReceiver } from "./example-folder.ts";

export interface ReceiverAtHand {
	readonly secret: string;
	readonly receiver: RunningReceiver;
	readonly folder: ExampleFolder;
}

export interface ReceiverCase {
	title: string;
	check(at: ReceiverAtHand): Promise<void>;
}

export async function expectStatus(at: ReceiverAtHand, callback: Callback, status: number): Promise<void> {
	const answered = await post(at, callback);
	equal(
		answered?.status,
		status,
		`${callback.method} ${callback.target} ${JSON.stringify(callback.headers).slice(0, 400)}`,
	);
}

/** Answered 401, and nothing is done about the event. */
export async function expectRefused(at: ReceiverAtHand, make: (body: string) => Callback): Promise<void> {
	const event = makeEvent();
	await expectStatus(at, make(JSON.stringify(event)), 401);
	await expectNoLine(at, event);
}

/** Exactly one, though the work comes after the answer. */
export async function expectLine(at: ReceiverAtHand, event: Record<string, unknown>): Promise<void> {
	const lines = () => at.receiver.linesOf(String(event["conversionId"]));
	await until(
		() => lines().length > 0,
		() => `it printed no line for ${event["conversionId"]}`,
	);
	await expectSettled(at);
	const wanted = `${event["event"]} ${event["conversionId"]} ${event["orderId"]} ${event["status"]}`;
	// PHP's log puts a time before it.
	deepEqual(
		lines().map((line) => line.slice(-wanted.length)),
		[wanted],
	);
}

export async function expectNoLine(at: ReceiverAtHand, event: Record<string, unknown>): Promise<void> {
	await expectSettled(at);
	deepEqual(at.receiver.linesOf(String(event["conversionId"])), []);
}

/** Whatever it was going to print for earlier requests, it has printed: a later one's line is there. */
async function expectSettled(at: ReceiverAtHand): Promise<void> {
	const marker = makeEvent();
	const answered = await post(at, sealed(at, { body: JSON.stringify(marker) }));
	// While its store is away nothing is worked on, and no line can come.
	if (answered?.status === 503) return;
	equal(answered?.status, 204, "it no longer takes good callbacks");
	await until(() => at.receiver.linesOf(String(marker["conversionId"])).length > 0);
}

export function shownEvents(at: ReceiverAtHand, event: Record<string, unknown>): string[] {
	const lines = at.receiver.linesOf(String(event["conversionId"]));
	return lines.map((line) => /conversion\.\w+/.exec(line)?.[0] ?? "");
}

export function post(at: ReceiverAtHand, callback: Callback): Promise<Answered | undefined> {
	return send(at.receiver.port, callback);
}

/** A good one but for what is given. */
export function sealed(at: ReceiverAtHand, options: Partial<CallbackOptions> = {}): Callback {
	return makeCallback({ secret: at.secret, ...options });
}

export function withHeader(callback: Callback, name: string, value: string | readonly string[]): Callback {
	return { ...callback, headers: { ...callback.headers, [`X-Service-${name}`]: value } };
}

export function withoutHeader(callback: Callback, name: string): Callback {
	const others = Object.entries(callback.headers).filter(([other]) => other !== `X-Service-${name}`);
	return { ...callback, headers: Object.fromEntries(others) };
}
