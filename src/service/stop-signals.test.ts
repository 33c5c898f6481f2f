import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { COPY_WINDOW_MS, judgeSignal } from "./stop-signals.ts";

test("each signal in each state, as a copy of the one before and as one of its own", () => {
	const cases = (["running", "draining", "finishing"] as const).flatMap((state) =>
		(["SIGTERM", "SIGINT"] as const).map((signal) => [
			`${state} ${signal}`,
			judgeSignal(state, signal, COPY_WINDOW_MS - 1),
			judgeSignal(state, signal, COPY_WINDOW_MS),
		]),
	);
	deepEqual(cases, [
		["running SIGTERM", "stop", "stop"],
		["running SIGINT", "stop", "stop"],
		["draining SIGTERM", "nothing", "hurry"],
		["draining SIGINT", "nothing", "hurry"],
		["finishing SIGTERM", "nothing", "nothing"],
		["finishing SIGINT", "nothing", "end"],
	]);
});
