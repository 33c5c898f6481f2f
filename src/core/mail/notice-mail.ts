// Composes the mails about failing callbacks. The present state comes first: what fails and since when, why,
// what is undelivered, what to do, and links to the callback and to the lists. Then come earlier failures,
// each once. The mails are plain text, so that every mail program on every phone can show them.

import { explainFailure } from "../callbacks/failure-cause.ts";
import { quote } from "../domain/mail-text.ts";
import type { ReceiverKind } from "../domain/receiver.ts";
import { showOrderId } from "../domain/visible-text.ts";
import { minuteIn } from "../domain/zone-day.ts";
import type { Mail } from "../ports.ts";
import {
	countFailing,
	type FailingReceivers,
	MAX_COUNTED_UNDELIVERED,
	type Undelivered,
} from "../store/queries/delivery-health.ts";
import type { ShownNotice } from "../store/queries/notices.ts";

export interface NoticeMailView {
	owner: { kind: ReceiverKind; name: string; public_id: string };
	notices: readonly ShownNotice[];
	undelivered: Undelivered;
	nowMs: number;
	zone: string;
}

type Zone = NoticeMailView["zone"];

/**
 * Maximum number of notices that a mail describes in full, because a shop that fails on and off may have
 * many. The page shows the older ones.
 */
const MOST_DESCRIBED = 3;

export function composeNoticeMail(view: NoticeMailView, network: { publicUrl: string }): Omit<Mail, "to"> {
	const { owner, notices, undelivered } = view;
	const [last] = notices.slice(-1);
	const worksAgain = last?.kind === "callbacks_working_again";
	const name = quote(owner.name);
	// Recoveries are not listed, because the description of each failure says when it ended.
	const before = notices.slice(0, -1).filter(({ kind }) => kind === "callbacks_failing");
	const described = before.slice(-MOST_DESCRIBED);
	const earlier = before.slice(0, -MOST_DESCRIBED);
	const paragraphs: string[][] = [
		[`${owner.kind === "shop" ? "Programme" : "Partner"}: ${name} (${owner.public_id})`],
		...(last === undefined ? [] : [describeNotice(last, view)]),
		worksAgain ? sayWhatIsLeft(view) : sayWhatWaits(view),
		...(worksAgain || last === undefined ? [] : [sayWhatToDo(last, undelivered)]),
		...listLinks(view, network.publicUrl),
		...(before.length === 0 ? [] : [["Before that:"]]),
		...described.map((notice) => describeNotice(notice, view)),
		...(earlier.length === 0 ? [] : [sumUp(earlier, view)]),
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

/** Counts the final failures that no earlier mail has mentioned. */
function countFresh(notices: readonly ShownNotice[]): number {
	return notices.reduce((sum, { failures, mailed_failures }) => sum + failures - mailed_failures, 0);
}

/** Summarizes earlier notices. Final failures are always mentioned, because the contract requires it. */
function sumUp(earlier: readonly ShownNotice[], { owner }: NoticeMailView): string[] {
	const fresh = countFresh(earlier);
	return [
		`${earlier.length === 1 ? "1 earlier notice is" : `${earlier.length} earlier notices are`} on the page of all notices.`,
		...(fresh === 0 ? [] : [`${countCallbacks(fresh)} to ${sayReceiver(owner)} failed permanently then.`]),
	];
}

/** Returns the word by which the mail addresses the receiver of the callbacks. */
function sayReceiver({ kind }: NoticeMailView["owner"]): string {
	return kind === "shop" ? "your shop" : "your server";
}

function describeNotice(notice: ShownNotice, { owner, zone }: NoticeMailView): string[] {
	const since = minuteIn(notice.opened_at_ms, zone);
	if (notice.kind === "callbacks_working_again")
		return [`Since ${since} your server accepts callbacks again.`];
	const period =
		notice.ended_at_ms === null
			? `Callbacks to ${sayReceiver(owner)} have been failing since ${since}`
			: `Callbacks to ${sayReceiver(owner)} failed from ${since} to ${minuteIn(notice.ended_at_ms, zone)}`;
	const attempts =
		notice.failed_attempts === 1 ? "1 attempt failed" : `${notice.failed_attempts} attempts in a row failed`;
	return [`${period}: ${attempts}.`, ...describeFinal(notice, owner, zone), ...describeLast(notice, zone)];
}

function describeFinal(
	{ failures, mailed_failures: told, opened_at_ms: openedAtMs }: ShownNotice,
	owner: NoticeMailView["owner"],
	zone: Zone,
): string[] {
	if (failures === told) return [];
	const all = told === 0 ? "" : ` (${failures} since ${minuteIn(openedAtMs, zone)})`;
	return [
		`${countCallbacks(failures - told)} to ${sayReceiver(owner)} failed permanently${all}; there are no more retries.`,
	];
}

function describeLast(notice: ShownNotice, zone: Zone): string[] {
	if (notice.last_failed_at_ms === null) return [];
	const { cause } = explainFailure(notice);
	const order = notice.lastOrderId === null ? null : `order ${quote(showOrderId(notice.lastOrderId))}`;
	const subject = order ?? notice.lastConversionId;
	const about = subject === null ? "" : `, ${subject} (${notice.lastEvent})`;
	const what = notice.failures > 0 ? "The last permanent failure" : "The last failed attempt";
	return [`${what}: ${minuteIn(notice.last_failed_at_ms, zone)}${about}: ${cause}`];
}

function sayWhatWaits({ notices, undelivered, nowMs, zone }: NoticeMailView): string[] {
	const { waiting, failed, nextDueAtMs } = undelivered;
	const next =
		nextDueAtMs === null || nextDueAtMs <= nowMs
			? "the next attempt is being made now"
			: `the next attempt is at ${minuteIn(nextDueAtMs, zone)}`;
	const isSaidAbove = failed === countFresh(notices.slice(-1));
	return [
		waiting === 0 ? "No callback is waiting." : `Waiting: ${countUndelivered(waiting)}; ${next}.`,
		...(isSaidAbove ? [] : [`Failed permanently and not resent: ${countUndelivered(failed)}.`]),
	];
}

function sayWhatIsLeft(view: NoticeMailView): string[] {
	const { waiting, failed } = view.undelivered;
	if (waiting === 0 && failed === 0) return ["No callback is undelivered."];
	const rest = failed === 0 ? "They are sent automatically; there is nothing to do." : RESEND;
	return ["Still undelivered:", ...sayWhatWaits(view), rest];
}

const RESEND = "Failed callbacks are not retried automatically: resend them, or set them aside.";

function sayWhatToDo(last: ShownNotice, { waiting, failed }: Undelivered): string[] {
	const { advice } = explainFailure(last);
	return [
		"What to do:",
		...(advice === "" ? [] : [advice]),
		...(waiting === 0 ? [] : ["Waiting callbacks are retried automatically."]),
		...(failed === 0 ? [] : [RESEND]),
	];
}

/** Returns the links to pages at the end of the mail. A test opens each of them. */
function listLinks({ owner, notices, undelivered }: NoticeMailView, publicUrl: string): string[][] {
	const home = `${publicUrl}/${owner.kind === "shop" ? "programmes" : "partner"}/${owner.public_id}`;
	const callbacks = `${home}/${owner.kind === "shop" ? "integration" : "callbacks"}`;
	const failedPage =
		owner.kind === "shop" ? `${home}/overview#failed` : `${callbacks}?state=failed#deliveries`;
	const failing = notices.findLast(({ kind }) => kind === "callbacks_failing");
	const callback = failing?.lastDeliveryPublicId ?? null;
	const { failed, waiting } = undelivered;
	return [
		...(callback === null ? [] : [["The callback that failed last:", `${home}/deliveries/${callback}`]]),
		...(failed === 0
			? []
			: [
					[
						failed === 1
							? "Resend it:"
							: `Resend all ${failed < MAX_COUNTED_UNDELIVERED ? failed : "that failed"}:`,
						failedPage,
					],
				]),
		...(waiting === 0 ? [] : [["Waiting callbacks:", `${callbacks}?state=pending#deliveries`]]),
		owner.kind === "shop"
			? ["All notices:", `${home}/overview#notices`]
			: ["Your callbacks and notices:", callbacks],
	];
}

function countCallbacks(count: number): string {
	return count === 1 ? "1 callback" : `${count} callbacks`;
}

/** Formats a count that stops at a limit, for example "1,000 or more". */
function countUndelivered(count: number): string {
	return count < MAX_COUNTED_UNDELIVERED ? countCallbacks(count) : `${count} or more callbacks`;
}

/** Composes the mail to the network's staff about all shops and partners whose callbacks fail. */
export function composeStaffMail(
	{ shops, partners }: { shops: FailingReceivers; partners: FailingReceivers },
	zone: Zone,
	publicUrl: string,
): Omit<Mail, "to"> {
	const describe = ({ receivers }: FailingReceivers, pathOf: (publicId: string) => string) =>
		receivers.map((receiver) => [
			`${quote(receiver.name)} (${receiver.publicId}), failing since ${minuteIn(receiver.sinceMs, zone)}: ${explainFailure(receiver).cause}`,
			`Waiting: ${receiver.waiting}. Failed permanently and not resent: ${receiver.failed}.`,
			`${publicUrl}${pathOf(receiver.publicId)}`,
		]);
	const ends = ({ receivers, more }: FailingReceivers, noun: string, path: string) =>
		receivers.length === 0
			? []
			: [
					...(more === 0 ? [] : [[`${more} more ${noun} are failing.`]]),
					[`All ${noun}:`, `${publicUrl}${path}`],
				];
	const paragraphs = [
		["Their own people are told, too. Ask those who do not react whether they need help."],
		...describe(shops, (publicId) => `/programmes/${publicId}/overview`),
		...ends(shops, "programmes", "/programmes"),
		...describe(partners, (publicId) => `/partner/${publicId}/callbacks`),
		...ends(partners, "partners", "/partners"),
		["You get this mail at most once a day. Switch it off under:", `${publicUrl}/account#settings`],
	];
	const counts = [countOf(countFailing(shops), "shop"), countOf(countFailing(partners), "partner")];
	return {
		subject: `Callbacks to ${counts.filter((words) => words !== "").join(" and ")} are failing`,
		text: paragraphs.map((lines) => lines.join("\n")).join("\n\n"),
	};
}

function countOf(count: number, noun: string): string {
	if (count === 0) return "";
	return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
