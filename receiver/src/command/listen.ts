// `ringback listen` receives the programme's events and forwards them to an endpoint that is not public yet.
// Without an endpoint it checks their signatures. It reports the results to the service. It reconnects by
// itself and continues where it stopped. Callbacks to a saved Postback URL are not affected.

import { parseEvent } from "../event.ts";
import { createMemoryStore } from "../event-store.ts";
import { isObject, parseJson } from "../json.ts";
import { pauseFor } from "../pause.ts";
import { createAnswerTeller } from "./answer-teller.ts";
import { type Connection, openStream } from "./event-stream.ts";
import { createReport } from "./forward-report.ts";
import { createChecking, createForwarding } from "./handle-event.ts";
import { showPlainly, writePlainJson } from "./plain-text.ts";
import { describeProblem } from "./service-words.ts";
import { readSettings, type Settings, settingsNote, urlOption } from "./settings.ts";
import type { StreamMessage } from "./stream-message.ts";
import { exitCode, type Surroundings } from "./surroundings.ts";
import { parseTarget } from "./target.ts";
import type { Given, Usage } from "./usage.ts";

const firstPauseMs = 250;
/** Maximum pause before a reconnect. It is short, because a developer may just have restarted the service. */
const longestPauseMs = 10_000;
/**
 * Duration after which a connection counts as stable. The command reconnects at once after a stable
 * connection.
 */
const steadyAfterMs = 5_000;
/**
 * Number of events that are remembered to recognize repeats. It is far more than a resumed stream can repeat.
 */
const mostRemembered = 10_000;
/**
 * Number of short connections in a row after which a message is shown. A restart of the service ends one or
 * two connections early.
 */
const shortStreamsToSay = 3;
/** Form of an event name, which is used in a header. Names that are unknown today are accepted. */
const eventNameForm = /^[\w.-]{1,100}$/;

export const listenUsage: Usage = {
	name: "listen",
	summary:
		"Brings this programme's events to your own machine as they happen, signed as callbacks are: checks each signature, or forwards them to your endpoint. Ctrl-C ends it.",
	options: {
		to: {
			type: "string",
			value: "URL",
			help: "forward to your endpoint: http://localhost:3000/postback",
		},
		url: urlOption,
		"test-only": { type: "boolean", help: "only events of test conversions" },
		since: { type: "string", value: "CURSOR", help: "go on after this cursor (as --json prints it)" },
		"print-body": { type: "boolean", help: "show each request as it was sent, and its body's SHA-256" },
		json: {
			type: "boolean",
			help: "print JSON, one object per line, for scripts; the first has the starting cursor",
		},
	},
	notes: [
		`Each event is forwarded once, whatever your endpoint answers; the line says what the service would do
with that answer. While the connection is lost nothing is missed: it comes back and continues where it
was. Callbacks to a saved Postback URL go on as before. The Integration page shows what came of each.`,
		settingsNote,
	],
};

export async function listen(given: Given, surroundings: Surroundings): Promise<number> {
	const { screen, environment } = surroundings;
	const read = readSettings(environment, given.text("url"));
	const to = given.text("to");
	const target = to === undefined ? null : parseTarget(to);
	const problems = [...(target?.ok === false ? [target.problem] : []), ...(read.ok ? [] : read.problems)];
	if (!read.ok || target?.ok === false) {
		for (const problem of problems) screen.error(problem);
		return exitCode.usage;
	}
	return new Follower(given, surroundings, read.settings, target?.url ?? null).run();
}

/** Returns the pause before the next connection, which is 0 if the last one was stable. */
export function reconnectPauseMs(failures: number): number {
	return failures === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1));
}

/**
 * Returns a sentence about the callbacks to the Postback URL, or an empty text if the service does not say
 * whether there is one.
 */
function describeCallbacks(hasPostbackUrl: unknown): string {
	if (hasPostbackUrl === true) return "Callbacks to the saved Postback URL go on as before. ";
	return hasPostbackUrl === false ? "No Postback URL is saved: events come here only. " : "";
}

type Lost = Exclude<Connection, { kind: "open" }>;

/**
 * The state of the connection. A stream that the service ends is opened again, and the state stays "connected".
 *
 *   new ─▶ connected ◀─▶ lost
 *    └──▶ unreachable ─▶ connected
 */
type State = "new" | "unreachable" | "connected" | "lost";

/** Receives events until the command is stopped. */
class Follower {
	readonly #given: Given;
	readonly #surroundings: Surroundings;
	readonly #settings: Settings;
	/** Developer's endpoint, or null if the command checks signatures instead. */
	readonly #target: URL | null;
	readonly #report: ReturnType<typeof createReport>;
	readonly #handle: ReturnType<typeof createForwarding>;
	readonly #teller: ReturnType<typeof createAnswerTeller>;
	readonly #remember = createMemoryStore({ capacity: mostRemembered });
	#state: State = "new";
	#cursor: string | undefined;
	/** Number of consecutive connections that were not stable. */
	#failures = 0;
	#hasSaidShort = false;
	#handled = 0;
	#unhappy = 0;

	constructor(given: Given, surroundings: Surroundings, settings: Settings, target: URL | null) {
		const { stopSignal, environment, isTerminal } = surroundings;
		this.#given = given;
		this.#surroundings = surroundings;
		this.#settings = settings;
		this.#target = target;
		this.#report = createReport({
			asJson: given.flag("json"),
			printsBody: given.flag("print-body"),
			hasColour: isTerminal && (environment["NO_COLOR"] ?? "") === "",
		});
		this.#handle =
			target === null ? createChecking(settings) : createForwarding(target, settings, stopSignal);
		this.#teller = createAnswerTeller(settings);
		this.#cursor = given.text("since");
	}

	async run(): Promise<number> {
		const { screen, stopSignal } = this.#surroundings;
		const testOnly = this.#given.flag("test-only");
		while (!stopSignal.aborted) {
			const connection = await openStream(this.#settings, { after: this.#cursor, testOnly }, stopSignal);
			if (stopSignal.aborted) break;
			if (connection.kind === "open") await this.#follow(connection.messages);
			else if (this.#mayComeBack(connection)) this.#lose(connection);
			else {
				screen.error(describeProblem(this.#settings.url, connection));
				await this.#teller.finish();
				return exitCode.failed;
			}
			await pauseFor(reconnectPauseMs(this.#failures), stopSignal);
		}
		await this.#teller.finish();
		const [done, lacking] = this.#target === null ? ["Checked", "a valid signature"] : ["Forwarded", "a 2xx"];
		const failed = this.#unhappy === 0 ? "" : `, ${this.#unhappy} of them without ${lacking}`;
		screen.error(`\n${done} ${this.#handled} event${this.#handled === 1 ? "" : "s"}${failed}.`);
		return exitCode.ok;
	}

	async #follow(messages: AsyncIterable<StreamMessage>): Promise<void> {
		const { screen, stopSignal } = this.#surroundings;
		const openedAtMs = performance.now();
		for await (const message of messages) {
			if (stopSignal.aborted) return;
			if (message.event === "listening") this.#connect(message);
			else if (message.event !== "") await this.#handleEvent(message);
			this.#cursor = message.id ?? this.#cursor;
		}
		const isSteady = performance.now() - openedAtMs >= steadyAfterMs;
		this.#failures = isSteady ? 0 : this.#failures + 1;
		if (isSteady) this.#hasSaidShort = false;
		if (this.#failures < shortStreamsToSay || this.#hasSaidShort || stopSignal.aborted) return;
		this.#hasSaidShort = true;
		screen.error(
			"The stream ends as soon as it has begun, trying again. Does a proxy in between let it through?",
		);
	}

	#connect(message: StreamMessage): void {
		const isFirst = !this.#wasConnected();
		if (this.#state === "lost") this.#surroundings.screen.error("Connected again.");
		this.#state = "connected";
		if (isFirst) this.#greet(message);
	}

	#greet({ data, id }: StreamMessage): void {
		const { screen } = this.#surroundings;
		const asJson = this.#given.flag("json");
		const say = asJson ? screen.error : screen.out;
		const greeting = parseJson(data);
		// The greeting is only displayed. If it is not valid, the events that follow may still be.
		const { programId, hasPostbackUrl } = isObject(greeting) ? greeting : {};
		const programme = typeof programId === "string" ? programId : "this programme";
		const which = this.#given.flag("test-only") ? "test events only" : "all events, tests too";
		const what = this.#target === null ? "checking their signatures" : `forwarding to ${this.#target.href}`;
		say(`Listening to ${showPlainly(programme)} (${which}), ${what}`);
		say(`${describeCallbacks(hasPostbackUrl)}Ctrl-C ends this.`);
		// A developer who created a test conversion a moment too early would otherwise wait in vain.
		if (this.#cursor === undefined) {
			say("Events from before this moment are not shown. Send a test conversion now.");
		}
		// With this cursor, a script can fetch even the first event again.
		if (asJson) screen.out(writePlainJson({ event: "listening", programId: programme, cursor: id ?? null }));
	}

	async #handleEvent(message: StreamMessage): Promise<void> {
		const { screen } = this.#surroundings;
		const { event: name, data, id } = message;
		const parsed = parseEvent(new TextEncoder().encode(data));
		if (!parsed.ok || !eventNameForm.test(name)) {
			const detail = parsed.ok ? `its name is "${name}".` : parsed.detail;
			screen.error(`The service sent something that is not an event: ${showPlainly(detail)}`);
			return;
		}
		const { event } = parsed;
		if ((await this.#remember(event)) === "seen") return;
		const result = await this.#handle(message);
		if (result === undefined) return;
		const { told: answer, ...shown } = result;
		this.#handled++;
		if (!["delivered", "verified"].includes(shown.judgement.verdict)) this.#unhappy++;
		const to = this.#target?.href ?? null;
		screen.out(this.#report({ ...shown, atMs: Date.now(), event, cursor: id, to }));
		if (answer !== null) {
			this.#teller.tell({ conversionId: event.conversionId, event: name, ...answer });
		}
	}

	#wasConnected(): boolean {
		return this.#state === "connected" || this.#state === "lost";
	}

	/**
	 * Returns whether reconnecting may help. A 5xx may be temporary. A lost connection, a 408 and a 429 may be
	 * temporary if a connection worked before. Any other refusal is final.
	 */
	#mayComeBack(connection: Lost): boolean {
		if (connection.kind === "unreachable") return this.#state !== "new";
		return connection.status >= 500 || (this.#wasConnected() && [408, 429].includes(connection.status));
	}

	#lose(connection: Lost): void {
		this.#failures++;
		if (this.#state === "lost" || this.#state === "unreachable") return;
		const what = this.#state === "connected" ? "Connection lost" : "Cannot connect yet";
		this.#state = this.#state === "connected" ? "lost" : "unreachable";
		this.#surroundings.screen.error(`${what} (${showPlainly(connection.detail)}), trying again.`);
	}
}
