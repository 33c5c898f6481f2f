// `ringback listen`: this programme's events, forwarded to an endpoint that is not public yet. It comes back by
// itself and goes on where it was; what the service delivers to the saved Postback URL is not touched.

import { parseEvent } from "../event.ts";
import { pauseFor } from "../pause.ts";
import { type Connection, openStream } from "./event-stream.ts";
import { type EventBody, forwardEvent } from "./forward.ts";
import { createReport, type Forwarded } from "./forward-report.ts";
import { createForwardedMemory } from "./forwarded-memory.ts";
import { judgeForward } from "./judgement.ts";
import { showPlainly } from "./plain-text.ts";
import { isSteady, reconnectPauseMs } from "./reconnect-pause.ts";
import { describeProblem } from "./service-words.ts";
import { readSettings, type Settings, settingsNote, urlOption } from "./settings.ts";
import type { StreamMessage } from "./stream-message.ts";
import { exitCode, type Surroundings } from "./surroundings.ts";
import { parseTarget } from "./target.ts";
import type { Given, Usage } from "./usage.ts";

/** A service that restarts ends a stream or two early; more is worth a word. */
const shortStreamsToSay = 3;

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
		since: { type: "string", value: "CURSOR", help: "go on behind this place (the cursor of --json)" },
		"print-body": { type: "boolean", help: "show each request as it was sent, and its body's SHA-256" },
		json: { type: "boolean", help: "print JSON, one object a line, for scripts" },
	},
	notes: [
		`Each event is forwarded once, whatever your endpoint answers; the line says what the service would do
with that answer. While the connection is lost nothing is missed: it comes back and goes on where it
was. What is delivered to the saved Postback URL is not touched.`,
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
	return new Listener(given, surroundings, read.settings, target.url).run();
}

class Listener {
	readonly #given: Given;
	readonly #around: Surroundings;
	readonly #settings: Settings;
	readonly #target: URL;
	readonly #report: (forwarded: Forwarded) => string;
	readonly #isNew = createForwardedMemory();
	#cursor: string | undefined;
	#wasConnected = false;
	#isLost = false;
	#failures = 0;
	#hasSaidShort = false;
	#forwarded = 0;
	#unhappy = 0;

	constructor(given: Given, around: Surroundings, settings: Settings, target: URL) {
		this.#given = given;
		this.#around = around;
		this.#settings = settings;
		this.#target = target;
		this.#cursor = given.text("since");
		this.#report = createReport({
			asJson: given.flag("json"),
			printsBody: given.flag("print-body"),
			hasColour: around.isTerminal && (around.environment["NO_COLOR"] ?? "") === "",
		});
	}

	async run(): Promise<number> {
		const { stopSignal, screen } = this.#around;
		const testOnly = this.#given.flag("test-only");
		while (!stopSignal.aborted) {
			const connection = await openStream(this.#settings, { after: this.#cursor, testOnly }, stopSignal);
			if (stopSignal.aborted) break;
			if (connection.kind === "open") await this.#follow(connection.messages);
			else if (!this.#mayComeBack(connection)) {
				screen.error(describeProblem(this.#settings.url, connection));
				return exitCode.failed;
			} else this.#sayLost(connection);
			await pauseFor(reconnectPauseMs(this.#failures), stopSignal);
		}
		const failed = this.#unhappy === 0 ? "" : `, ${this.#unhappy} of them without a 2xx`;
		screen.error(`\nForwarded ${this.#forwarded} event${this.#forwarded === 1 ? "" : "s"}${failed}.`);
		return exitCode.ok;
	}

	async #follow(messages: AsyncIterable<StreamMessage>): Promise<void> {
		const openedAtMs = performance.now();
		for await (const message of messages) {
			if (this.#around.stopSignal.aborted) return;
			if (message.event === "listening") this.#sayListening(message.data);
			else if (message.event !== "") await this.#take(message);
			this.#cursor = message.id ?? this.#cursor;
		}
		if (isSteady(performance.now() - openedAtMs)) {
			this.#failures = 0;
			this.#hasSaidShort = false;
			return;
		}
		this.#failures++;
		if (this.#failures < shortStreamsToSay || this.#hasSaidShort || this.#around.stopSignal.aborted) return;
		this.#hasSaidShort = true;
		this.#around.screen.error(
			"The stream ends as soon as it has begun, trying again. Does a proxy in between let it through?",
		);
	}

	#sayListening(data: string): void {
		const { screen } = this.#around;
		const say = this.#given.flag("json") ? screen.error : screen.out;
		if (this.#isLost && this.#wasConnected) screen.error("Connected again.");
		this.#isLost = false;
		if (this.#wasConnected) return;
		this.#wasConnected = true;
		const which = this.#given.flag("test-only") ? "test events only" : "all events, tests too";
		say(`Listening to ${showPlainly(readProgramId(data))} (${which}), forwarding to ${this.#target.href}`);
		say("What is delivered to the saved Postback URL is not touched. Ctrl-C ends this.");
	}

	async #take({ event: name, data, id }: StreamMessage): Promise<void> {
		const { screen, stopSignal } = this.#around;
		const parsed = parseEvent(new TextEncoder().encode(data));
		if (!parsed.ok || !isEventName(name)) {
			const detail = parsed.ok ? `its name is "${name}".` : parsed.detail;
			screen.error(`The service sent what is no event: ${showPlainly(detail)}`);
			return;
		}
		const { event } = parsed;
		if (!this.#isNew(event.conversionId, event.event)) return;
		const fields: EventBody = JSON.parse(data);
		const { outcome, sent } = await forwardEvent(this.#target, name, fields, this.#settings, stopSignal);
		if (outcome.kind === "stopped") return;
		const judgement = judgeForward(outcome, this.#target);
		this.#forwarded++;
		if (judgement.verdict !== "delivered") this.#unhappy++;
		screen.out(
			this.#report({
				atMs: Date.now(),
				event,
				sent,
				cursor: id,
				to: this.#target.href,
				httpStatus: outcome.kind === "answered" ? outcome.status : null,
				firstLine: outcome.kind === "answered" ? outcome.firstLine : "",
				tookMs: outcome.tookMs,
				judgement,
			}),
		);
	}

	/** A refusal is the same again; what is out of order may be in order soon, if it ever was. */
	#mayComeBack(connection: Exclude<Connection, { kind: "open" }>): boolean {
		switch (connection.kind) {
			case "unreachable":
				return this.#wasConnected || this.#isLost;
			case "unexpected":
			case "refused":
				return connection.status >= 500 || (this.#wasConnected && [408, 429].includes(connection.status));
		}
		connection satisfies never;
	}

	#sayLost(connection: Exclude<Connection, { kind: "open" }>): void {
		this.#failures++;
		if (this.#isLost) return;
		this.#isLost = true;
		const what = this.#wasConnected ? "Connection lost" : "Cannot connect yet";
		this.#around.screen.error(`${what} (${showPlainly(connection.detail)}), trying again.`);
	}
}

function readProgramId(data: string): string {
	const unnamed = "this programme";
	try {
		const json: unknown = JSON.parse(data);
		const isNamed = typeof json === "object" && json !== null && "programId" in json;
		return isNamed && typeof json.programId === "string" ? json.programId : unnamed;
	} catch {
		// Only shown: the events behind it may be good all the same.
		return unnamed;
	}
}

/** It goes into a header. Later names are let through. */
function isEventName(name: string): boolean {
	return /^[\w.-]{1,100}$/.test(name);
}
