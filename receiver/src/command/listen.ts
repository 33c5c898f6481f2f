// `ringback listen`: this programme's events, forwarded to an endpoint that is not public yet. It comes back by
// itself and goes on where it was; what the service delivers to the saved Postback URL is not touched.

import { parseEvent } from "../event.ts";
import { type Connection, openStream } from "./event-stream.ts";
import { type EventBody, forwardEvent } from "./forward.ts";
import { createReport, type Forwarded } from "./forward-report.ts";
import { createForwardedMemory } from "./forwarded-memory.ts";
import { judgeForward } from "./judgement.ts";
import { pauseFor, reconnectPauseMs } from "./pause.ts";
import { showPlainly } from "./plain-text.ts";
import { readSettings, type Settings, settingsNote, urlOption } from "./settings.ts";
import type { StreamMessage } from "./stream-message.ts";
import { exitCode, type Surroundings } from "./surroundings.ts";
import { parseTarget } from "./target.ts";
import type { Given, Usage } from "./usage.ts";

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
		"print-body": { type: "boolean", help: "show the body of each event, too" },
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
				screen.error(this.#describeEnd(connection));
				return exitCode.failed;
			} else this.#sayLost(connection);
			await pauseFor(reconnectPauseMs(this.#failures), stopSignal);
		}
		const failed = this.#unhappy === 0 ? "" : `, ${this.#unhappy} of them without a 2xx`;
		screen.error(`\nForwarded ${this.#forwarded} event${this.#forwarded === 1 ? "" : "s"}${failed}.`);
		return exitCode.ok;
	}

	async #follow(messages: AsyncIterable<StreamMessage>): Promise<void> {
		let count = 0;
		for await (const message of messages) {
			if (this.#around.stopSignal.aborted) return;
			if (message.event === "listening") this.#sayListening(message.data);
			else if (message.event !== "") await this.#take(message);
			count++;
			this.#cursor = message.id ?? this.#cursor;
		}
		// One that ends as soon as it has begun must not be asked for again and again.
		this.#failures = count > 1 ? 0 : this.#failures + 1;
	}

	#sayListening(data: string): void {
		const { screen } = this.#around;
		const say = this.#given.flag("json") ? screen.error : screen.out;
		if (this.#isLost) screen.error("Connected again.");
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
		if (!parsed.ok) {
			screen.error(`The service sent what is no event: ${parsed.detail}`);
			return;
		}
		const { event } = parsed;
		if (!this.#isNew(event.conversionId, event.event)) return;
		const fields: EventBody = JSON.parse(data);
		const { outcome, body } = await forwardEvent(this.#target, name, fields, this.#settings, stopSignal);
		if (outcome.kind === "stopped") return;
		const judgement = judgeForward(outcome, this.#target);
		this.#forwarded++;
		if (judgement.verdict !== "delivered") this.#unhappy++;
		screen.out(
			this.#report({
				atMs: Date.now(),
				event,
				body,
				cursor: id,
				to: this.#target.href,
				httpStatus: outcome.kind === "answered" ? outcome.status : null,
				tookMs: outcome.tookMs,
				judgement,
			}),
		);
	}

	/** A refusal is the same again; what is out of order may be in order soon, if it ever was. */
	#mayComeBack(connection: Exclude<Connection, { kind: "open" }>): boolean {
		switch (connection.kind) {
			case "unreachable":
				return this.#wasConnected;
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
		this.#around.screen.error(`Connection lost (${showPlainly(connection.detail)}), trying again.`);
	}

	#describeEnd(connection: Exclude<Connection, { kind: "open" }>): string {
		const { url } = this.#settings;
		switch (connection.kind) {
			case "unreachable":
				return `Nothing answers at ${url} (${connection.detail}). Check RINGBACK_URL or --url, and that the service runs.`;
			case "unexpected":
				return `${url} does not answer as Ringback does: ${showPlainly(connection.detail)}. Check RINGBACK_URL or --url.`;
			case "refused": {
				const isBrand = connection.code === "missing_signature_header";
				const hint = isBrand ? " If the network has a brand of its own, set RINGBACK_BRAND to it." : "";
				return `${showPlainly(connection.detail)}${hint}`;
			}
		}
		connection satisfies never;
	}
}

function readProgramId(data: string): string {
	const json: unknown = JSON.parse(data);
	const isNamed = typeof json === "object" && json !== null && "programId" in json;
	return isNamed && typeof json.programId === "string" ? json.programId : "this programme";
}
