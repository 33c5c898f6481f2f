// Prints one event, as a line of text for people or as a line of JSON for programs.

import type { PostbackEvent } from "../event.ts";
import type { SentRequest } from "./forward.ts";
import type { Handled } from "./handle-event.ts";
import type { Judgement } from "./judgement.ts";
import { showPlainly, writePlainJson } from "./plain-text.ts";

export type Forwarded = Omit<Handled, "told"> & {
	readonly atMs: number;
	readonly event: PostbackEvent;
	readonly cursor: string | undefined;
	/** Address to which the event was forwarded, or null if it was not forwarded. */
	readonly to: string | null;
};

export type ReportOptions = {
	readonly asJson: boolean;
	readonly printsBody: boolean;
	readonly hasColour: boolean;
};

const longestEvent = "conversion.recorded".length;
const longestStatus = "RECORDED".length;
/** Maximum width of the column for order ids. A longer id is still shown in full. */
const mostOrderWidth = 28;

const colours = { delivered: 32, verified: 32, retry: 33, unsigned: 33, stop: 31, not_verified: 31 } as const;

export function createReport(options: ReportOptions): (forwarded: Forwarded) => string {
	if (options.asJson) return (forwarded) => writePlainJson(describe(forwarded, options.printsBody));
	let orderWidth = 10;
	return (forwarded) => {
		const { event, sent, atMs, judgement } = forwarded;
		const order = showPlainly(event.orderId);
		orderWidth = Math.min(mostOrderWidth, Math.max(orderWidth, order.length));
		const words = [
			timeOfDay(atMs),
			showPlainly(event.event).padEnd(longestEvent),
			order.padEnd(orderWidth),
			showPlainly(event.status).padEnd(longestStatus),
			`→ ${paint(judgement.answer, judgement, options.hasColour)}`,
		];
		const said = forwarded.firstLine === "" ? "" : `“${showPlainly(forwarded.firstLine)}”`;
		const notes = [event.test ? "test" : "", said, showPlainly(judgement.advice)].filter(
			(note) => note !== "",
		);
		const line = [...words, ...notes].join("  ");
		return options.printsBody && sent !== null ? `${line}\n${writeSent(sent)}` : line;
	};
}

function writeSent({ method, path, headers, body, bodySha256 }: SentRequest): string {
	const shown = showPlainly(body);
	const bytes = Buffer.byteLength(body);
	// A developer may hash the displayed text, so the report says whether it differs from the bytes that were
	// sent.
	const which =
		shown === body
			? `these ${bytes} bytes`
			: `the ${bytes} bytes, before odd characters were escaped for the screen`;
	const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
	return [`${method} ${path}`, ...lines, "", shown, `SHA-256 of ${which}: ${bodySha256}`, ""].join("\n");
}

function describe(forwarded: Forwarded, printsBody: boolean): object {
	const { event, judgement } = forwarded;
	return {
		at: new Date(forwarded.atMs).toISOString(),
		event: event.event,
		orderId: event.orderId,
		conversionId: event.conversionId,
		status: event.status,
		test: event.test,
		to: forwarded.to,
		httpStatus: forwarded.httpStatus,
		answerText: forwarded.firstLine === "" ? null : forwarded.firstLine,
		tookMs: forwarded.tookMs,
		verdict: judgement.verdict,
		advice: judgement.advice === "" ? null : judgement.advice,
		cursor: forwarded.cursor ?? null,
		...(printsBody ? { sent: forwarded.sent } : {}),
	};
}

function timeOfDay(atMs: number): string {
	return new Date(atMs).toTimeString().slice(0, 8);
}

function paint(text: string, { verdict }: Judgement, hasColour: boolean): string {
	return hasColour ? `\u001b[${colours[verdict]}m${text}\u001b[0m` : text;
}
