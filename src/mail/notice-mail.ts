// The words of a notice mail: what fails and since when, why, what is undelivered, what to do, and links to the very
// callback and to the lists. Plain text: it must be readable in any client, on any phone.

import { explainFailure } from "../callbacks/failure-cause.ts";
import { quote } from "../domain/mail-text.ts";
import { minuteIn } from "../domain/zone-day.ts";
import type { Mail } from "../ports.ts";
import { MAX_COUNTED_UNDELIVERED, type Undelivered } from "../store/queries/delivery-health.ts";
import type { ShownNotice } from "../store/queries/notices.ts";
import type { Programme } from "../store/queries/programmes.ts";

export interface NoticeMailView {
	programme: Pick<Programme, "name" | "public_id">;
	/** The oldest first. */
	notices: readonly ShownNotice[];
	/** At this moment. */
	undelivered: Undelivered;
	nowMs: number;
	/** Its readers' own; null for UTC. */
	zone: string | null;
}

type Zone = NoticeMailView["zone"];

/** A shop that fails on and off may have many; the page has the older ones. */
const MOST_DESCRIBED = 6;

export function composeNoticeMail(view: NoticeMailView, network: { publicUrl: string }): Omit<Mail, "to"> {
	const { programme, notices, undelivered, zone } = view;
	const [last] = notices.slice(-1);
	const worksAgain = last?.kind === "callbacks_working_again";
	const name = quote(programme.name);
	const earlier = notices.slice(0, -MOST_DESCRIBED);
	const described = notices.slice(-MOST_DESCRIBED);
	const paragraphs: string[][] = [
		[`Programme: ${name} (${programme.public_id})`],
		...(earlier.length === 0 ? [] : [sumUp(earlier)]),
		...described.map((notice) => describeNotice(notice, zone)),
		worksAgain ? sayWhatIsLeft(view) : sayWhatWaits(view),
		...(worksAgain || last === undefined ? [] : [sayWhatToDo(last)]),
		...listLinks(view, network.publicUrl),
	];
	return {
		subject: `${headline(notices, worksAgain, undelivered)}: ${name}`,
		text: paragraphs.map((lines) => lines.join("\n")).join("\n\n"),
	};
}

function headline(notices: readonly ShownNotice[], worksAgain: boolean, { failed }: Undelivered): string {
	if (worksAgain) {
		return failed === 0
			? "Callbacks recovered"
			: `Callbacks recovered, ${countUndelivered(failed)} not delivered`;
	}
	const fresh = countFresh(notices);
	return fresh === 0 ? "Callbacks are failing" : `${countCallbacks(fresh)} failed permanently`;
}

/** Final failures that no mail has told of. */
function countFresh(notices: readonly ShownNotice[]): number {
	return notices.reduce((sum, { failures, mailed_failures }) => sum + failures - mailed_failures, 0);
}

/** Of a final failure people hear in any case: the contract asks for it. */
function sumUp(earlier: readonly ShownNotice[]): string[] {
	const fresh = countFresh(earlier);
	return [
		`${earlier.length} earlier notices are on the page of all notices.`,
		...(fresh === 0 ? [] : [`${countCallbacks(fresh)} to your shop failed permanently then.`]),
	];
}

function describeNotice(notice: ShownNotice, zone: Zone): string[] {
	const since = minuteIn(notice.opened_at_ms, zone);
	if (notice.kind === "callbacks_working_again")
		return [`Since ${since} your server accepts callbacks again.`];
	const period =
		notice.ended_at_ms === null
			? `Callbacks to your shop have been failing since ${since}`
			: `Callbacks to your shop failed from ${since} to ${minuteIn(notice.ended_at_ms, zone)}`;
	const attempts =
		notice.failed_attempts === 1 ? "1 attempt failed" : `${notice.failed_attempts} attempts in a row failed`;
	return [`${period}: ${attempts}.`, ...describeFinal(notice, zone), ...describeLast(notice, zone)];
}

function describeFinal(
	{ failures, mailed_failures: told, opened_at_ms: openedAtMs }: ShownNotice,
	zone: Zone,
): string[] {
	if (failures === told) return [];
	const all = told === 0 ? "" : ` (${failures} since ${minuteIn(openedAtMs, zone)})`;
	return [
		`${countCallbacks(failures - told)} to your shop failed permanently${all}; there are no more retries.`,
	];
}

function describeLast(notice: ShownNotice, zone: Zone): string[] {
	if (notice.last_failed_at_ms === null) return [];
	const { cause } = explainFailure(notice);
	const order =
		notice.lastOrderId === null ? "" : `, order ${quote(notice.lastOrderId)} (${notice.lastEvent})`;
	return [`The last failed attempt: ${minuteIn(notice.last_failed_at_ms, zone)}${order}: ${cause}`];
}

function sayWhatWaits({ undelivered, nowMs, zone }: NoticeMailView): string[] {
	const { waiting, failed, nextDueAtMs } = undelivered;
	const next =
		nextDueAtMs === null || nextDueAtMs <= nowMs
			? "the next attempt is being made now"
			: `the next attempt is at ${minuteIn(nextDueAtMs, zone)}`;
	return [
		waiting === 0 ? "No callback is waiting." : `Waiting: ${countUndelivered(waiting)}; ${next}.`,
		...(failed === 0 ? [] : [`Failed permanently and not resent: ${countUndelivered(failed)}.`]),
	];
}

function sayWhatIsLeft(view: NoticeMailView): string[] {
	const { waiting, failed } = view.undelivered;
	if (waiting === 0 && failed === 0) return ["Every callback has been delivered."];
	const rest =
		failed === 0
			? "They are sent automatically; there is nothing to do."
			: "Failed callbacks are not retried automatically. Resend them with the button above their list.";
	return ["Still undelivered:", ...sayWhatWaits(view), rest];
}

function sayWhatToDo(last: ShownNotice): string[] {
	const { advice } = explainFailure(last);
	const then = "Waiting callbacks are retried automatically; failed ones have to be resent from their list.";
	return ["What to do:", ...(advice === "" ? [] : [advice]), then];
}

/** The addresses are those of the pages; a test opens each of them. */
function listLinks({ programme, notices, undelivered }: NoticeMailView, publicUrl: string): string[][] {
	const home = `${publicUrl}/programmes/${programme.public_id}`;
	const failing = notices.findLast(({ kind }) => kind === "callbacks_failing");
	const callback = failing?.lastDeliveryPublicId ?? null;
	const list = (state: string) => `${home}/integration?state=${state}#deliveries`;
	return [
		...(callback === null ? [] : [["The callback that failed last:", `${home}/deliveries/${callback}`]]),
		...(undelivered.failed === 0 ? [] : [["Failed callbacks, to be resent:", list("failed")]]),
		...(undelivered.waiting === 0 ? [] : [["Waiting callbacks:", list("pending")]]),
		["All notices:", `${home}/notices`],
	];
}

function countCallbacks(count: number): string {
	return count === 1 ? "1 callback" : `${count} callbacks`;
}

/** What is undelivered is counted up to a limit. */
function countUndelivered(count: number): string {
	return count < MAX_COUNTED_UNDELIVERED ? countCallbacks(count) : `${count} or more callbacks`;
}
