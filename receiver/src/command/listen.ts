// `ringback listen`: this programme's events, forwarded to an endpoint that is not public yet. It comes back by
// itself and goes on where it was; callbacks to the saved Postback URL go on as before.

import { parseEvent } from "../event.ts";
import { createMemoryStore } from "../event-store.ts";
import { isObject, parseJson } from "../json.ts";
import { pauseFor } from "../pause.ts";
import { type Connection, openStream } from "./event-stream.ts";
import { type EventBody, forwardEvent } from "./forward.ts";
import { createReport } from "./forward-report.ts";
import { judgeForward } from "./judgement.ts";
import { showPlainly } from "./plain-text.ts";
import { describeProblem } from "./service-words.ts";
import { readSettings, type Settings, settingsNote, urlOption } from "./settings.ts";
import type { StreamMessage } from "./stream-message.ts";
import { exitCode, type Surroundings } from "./surroundings.ts";
import { parseTarget } from "./target.ts";
import type { Given, Usage } from "./usage.ts";

const firstPauseMs = 250;
/** A developer who restarts the service waits no longer than this for the next event. */
const longestPauseMs = 10_000;
/** Whoever was connected for as long may come back at once: that is no way to be asked again and again. */
const steadyAfterMs = 5_000;
/** A stream that is taken up again may tell the last events once more. Far more than can come twice. */
const mostRemembered = 10_000;
/** A service that restarts ends a stream or two early; more is worth a word. */
const shortStreamsToSay = 3;
/** It goes into a header. Later names are let through. */
const eventNameForm = /^[\w.-]{1,100}$/;

export const listenUsage: Usage = {
	name: "listen",
	summary:
		"Forwards this programme's events to your own machine as they happen, signed as callbacks are. Ctrl-C ends it.",
	options: {
		to: {
			type: "string",
			value: "URL",
			help: "your endpoint: http://localhost:3000/postback",
			isRequired: true,
		},
		url: urlOption,
		"test-only": { type: "boolean", help: "only events of test conversions" },
		since: { type: "string", value: "CURSOR", help: "go on after this cursor (as --json prints it)" },
		"print-body": { type: "boolean", help: "show each request as it was sent, and its body's SHA-256" },
		json: { type: "boolean", help: "print JSON, one object per line, for scripts" },
	},
	notes: [
		`Each event is forwarded once, whatever your endpoint answers; the line says what the service would do
with that answer. While the connection is lost nothing is missed: it comes back and goes on where it
was. Callbacks to the saved Postback URL go on as before.`,
		settingsNote,
	],
};

export async function listen(given: Given, surroundings: Surroundings): Promise<number> {
	const { screen, environment } = surroundings;
	const read = readSettings(environment, given.text("url"));
	const target = parseTarget(given.text("to") ?? "");
	const problems = [...(target.ok ? [] : [target.problem]), ...(read.ok ? [] : read.problems)];
	if (!read.ok || !target.ok) {
		for (const problem of problems) screen.error(problem);
		return exitCode.usage;
	}
	return followEvents(given, surroundings, read.settings, target.url);
}

/** None after a connection that was steady. */
export function reconnectPauseMs(failures: number): number {
	return failures === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1));
}

type Lost = Exclude<Connection, { kind: "open" }>;

async function followEvents(
	given: Given,
	{ screen, stopSignal, environment, isTerminal }: Surroundings,
	settings: Settings,
	target: URL,
): Promise<number> {
	const testOnly = given.flag("test-only");
	const report = createReport({
		asJson: given.flag("json"),
		printsBody: given.flag("print-body"),
		hasColour: isTerminal && (environment["NO_COLOR"] ?? "") === "",
	});
	const remember = createMemoryStore({ capacity: mostRemembered });
	let cursor = given.text("since");
	let wasConnected = false;
	let isLost = false;
	/** Connections in a row that were not steady. */
	let failures = 0;
	let hasSaidShort = false;
	let forwarded = 0;
	let unhappy = 0;

	while (!stopSignal.aborted) {
		const connection = await openStream(settings, { after: cursor, testOnly }, stopSignal);
		if (stopSignal.aborted) break;
		if (connection.kind === "open") await follow(connection.messages);
		else if (!mayComeBack(connection)) {
			screen.error(describeProblem(settings.url, connection));
			return exitCode.failed;
		} else sayLost(connection);
		await pauseFor(reconnectPauseMs(failures), stopSignal);
	}
	const failed = unhappy === 0 ? "" : `, ${unhappy} of them without a 2xx`;
	screen.error(`\nForwarded ${forwarded} event${forwarded === 1 ? "" : "s"}${failed}.`);
	return exitCode.ok;

	async function follow(messages: AsyncIterable<StreamMessage>): Promise<void> {
		const openedAtMs = performance.now();
		for await (const message of messages) {
			if (stopSignal.aborted) return;
			if (message.event === "listening") sayListening(message.data);
			else if (message.event !== "") await forward(message);
			cursor = message.id ?? cursor;
		}
		const isSteady = performance.now() - openedAtMs >= steadyAfterMs;
		failures = isSteady ? 0 : failures + 1;
		if (isSteady) hasSaidShort = false;
		if (failures < shortStreamsToSay || hasSaidShort || stopSignal.aborted) return;
		hasSaidShort = true;
		screen.error(
			"The stream ends as soon as it has begun, trying again. Does a proxy in between let it through?",
		);
	}

	function sayListening(data: string): void {
		const say = given.flag("json") ? screen.error : screen.out;
		if (isLost && wasConnected) screen.error("Connected again.");
		isLost = false;
		if (wasConnected) return;
		wasConnected = true;
		const greeting = parseJson(data);
		// Only shown: the events behind it may be good all the same.
		const programId = isObject(greeting) ? greeting["programId"] : undefined;
		const programme = typeof programId === "string" ? programId : "this programme";
		const which = testOnly ? "test events only" : "all events, tests too";
		say(`Listening to ${showPlainly(programme)} (${which}), forwarding to ${target.href}`);
		say("Callbacks to the saved Postback URL go on as before. Ctrl-C ends this.");
	}

	async function forward({ event: name, data, id }: StreamMessage): Promise<void> {
		const parsed = parseEvent(new TextEncoder().encode(data));
		if (!parsed.ok || !eventNameForm.test(name)) {
			const detail = parsed.ok ? `its name is "${name}".` : parsed.detail;
			screen.error(`The service sent something that is not an event: ${showPlainly(detail)}`);
			return;
		}
		const { event } = parsed;
		if ((await remember(event)) === "seen") return;
		const fields: EventBody = JSON.parse(data);
		const { outcome, sent } = await forwardEvent(target, name, fields, settings, stopSignal);
		if (outcome.kind === "stopped") return;
		const judgement = judgeForward(outcome, target);
		forwarded++;
		if (judgement.verdict !== "delivered") unhappy++;
		screen.out(
			report({
				atMs: Date.now(),
				event,
				sent,
				cursor: id,
				to: target.href,
				httpStatus: outcome.kind === "answered" ? outcome.status : null,
				firstLine: outcome.kind === "answered" ? outcome.firstLine : "",
				tookMs: outcome.tookMs,
				judgement,
			}),
		);
	}

	/** 5xx may pass; a lost connection, 408 and 429 too, if it ever worked. Any other refusal stays a refusal. */
	function mayComeBack(connection: Lost): boolean {
		if (connection.kind === "unreachable") return wasConnected || isLost;
		return connection.status >= 500 || (wasConnected && [408, 429].includes(connection.status));
	}

	function sayLost(connection: Lost): void {
		failures++;
		if (isLost) return;
		isLost = true;
		const what = wasConnected ? "Connection lost" : "Cannot connect yet";
		screen.error(`${what} (${showPlainly(connection.detail)}), trying again.`);
	}
}
