// What "Check a signature" found: the conclusion, then part by part, and where two texts differ, to the byte.

import { html } from "hono/html";
import type { CheckedSignature } from "../../accounts/check-signature.ts";
import type { SentAttempt } from "../../accounts/look-up-sent.ts";
import type { Direction } from "../../domain/pasted-request.ts";
import type { DiagnosisPart, DiagnosisStep, DiagnosisVerdict } from "../../domain/signature-steps.ts";
import type { TextDifference } from "../../domain/text-difference.ts";
import { message, more, padded, section } from "../components/blocks.ts";
import { dataTable } from "../components/lists.ts";
import { badge, codeBlock, count, type Tone, timeTag } from "../components/text.ts";
import type { Content, Html } from "../html.ts";
import { deliveryPath } from "../paths.ts";

const PART_LABELS: Readonly<Record<DiagnosisPart, string>> = {
	headers: "Headers",
	method: "Method",
	path: "Path",
	query: "Query string",
	timestamp: "Timestamp",
	nonce: "Nonce",
	event: "Event header",
	body: "Body",
	form: "Signed text",
	signature: "Signature header",
	secret: "Secret",
	arrival: "What reached us",
};
const VERDICTS: Readonly<Record<DiagnosisVerdict, readonly [Tone, string]>> = {
	good: ["good", "Right"],
	bad: ["bad", "Differs"],
	warn: ["warn", "Note"],
	unknown: ["plain", "Not known"],
};

/** Whose text is whose, in either direction. */
const SIDES: Readonly<Record<Direction, readonly [signed: string, seen: string]>> = {
	callback: ["We sent", "You pasted"],
	request: ["Signed", "Sent"],
};

export function findingsSection(programmeId: string, found: CheckedSignature): Html {
	const { direction, isGood, conclusion, steps, computed, canonical, attempt } = found;
	return section({
		id: "findings",
		title: "What we found",
		...(attempt === null ? {} : { hint: attemptHint(programmeId, attempt) }),
		body: html`${padded(message(isGood ? "good" : "bad", conclusion))}${stepsTable(
			"What differs, and what to know",
			steps.filter(({ verdict }) => verdict !== "good"),
			SIDES[direction],
		)}${rightParts(
			steps.filter(({ verdict }) => verdict === "good"),
			SIDES[direction],
		)}${computed === null ? null : computedPart(computed)}${
			canonical === null
				? null
				: padded(
						html`<h3>The text to sign</h3>`,
						codeBlock(canonical, "The text to sign: five lines, joined by a line feed", "lines"),
					)
		}`,
	});
}

/** In place of them, when nothing could be looked at. */
export function refusalSection(text: string): Html {
	return section({ id: "findings", title: "Not checked", body: padded(message("bad", text)) });
}

function attemptHint(programmeId: string, { deliveryId, seq, event, startedAtMs }: SentAttempt): Content {
	return html`Compared with our own record: <a href="${deliveryPath(programmeId, deliveryId)}#attempt-${seq}">attempt ${seq} of
		${event}</a>, sent ${timeTag(startedAtMs)}.`;
}

/** Folded: on a phone they would be two screens before the next thing that matters. */
function rightParts(
	steps: readonly DiagnosisStep[],
	sides: readonly [signed: string, seen: string],
): Html | null {
	if (steps.length === 0) return null;
	const names = steps.map(({ part }) => PART_LABELS[part].toLowerCase()).join(", ");
	return padded(more(`Right: ${names}`, stepsTable("What is right", steps, sides)));
}

function computedPart(steps: readonly DiagnosisStep[]): Html {
	return html`${padded(
		html`<h3>The signature your code computed</h3>`,
		html`<p class="small soft">Judged over the request as you pasted it.</p>`,
	)}${stepsTable("The signature your code computed", steps, ["Computed over", "You pasted"])}`;
}

function stepsTable(
	caption: string,
	steps: readonly DiagnosisStep[],
	sides: readonly [signed: string, seen: string],
): Html {
	return dataTable({
		caption,
		rows: steps,
		empty: null,
		stacks: true,
		columns: [
			{
				title: "Part",
				namesRow: true,
				cell: ({ part }) => html`<span class="nowrap">${PART_LABELS[part]}</span>`,
			},
			{ title: "Result", cell: ({ verdict }) => badge(...VERDICTS[verdict]) },
			{
				title: "What to know",
				cell: ({ text, difference }) =>
					html`<span class="break">${text}</span>${difference === null ? null : differenceBlock(difference, sides)}`,
			},
		],
	});
}

function differenceBlock(
	found: TextDifference,
	[signed, seen]: readonly [signed: string, seen: string],
): Html {
	const { offset, signedBytes, seenBytes } = found;
	const where = offset === 0 ? "From the first byte on" : `From byte ${count(offset + 1)} on`;
	return html`<div class="difference">
	<p class="small soft">${where} (${bytes(signedBytes)} and ${bytes(seenBytes)} in all):</p>
	<p><span class="small soft">${signed}</span> <code>${found.before}<mark>${shown(found.signed)}</mark>${found.after}</code></p>
	<p><span class="small soft">${seen}</span> <code>${found.before}<mark>${shown(found.seen)}</mark>${found.after}</code></p>
	${more(
		"Technical detail",
		html`<p class="small soft">The first bytes that differ:</p>`,
		html`<p class="small">${signed}: <code>${shown(found.signedHex)}</code></p>`,
		html`<p class="small">${seen}: <code>${shown(found.seenHex)}</code></p>`,
	)}
</div>`;
}

function bytes(length: number): string {
	return `${count(length)} ${length === 1 ? "byte" : "bytes"}`;
}

function shown(text: string): string {
	return text === "" ? "(nothing)" : text;
}
