// Turns news into mails: at once for the first, then together for what follows, so that a busy hour is not a flood. Two
// kinds of news wait to be told, each written in the transaction of what happened: changes to accounts and programmes
// (audit entries that are marked), and notices of callbacks (those with a due mail). The mails are written into the queue
// in the transaction that takes the news: everything is told, and nothing twice, whoever dies meanwhile.

import { TELL_INTERVALS_MS } from "../domain/action.ts";
import { callbacksTopic, MAIL_INTERVAL_MS, MAILED_ROLES } from "../domain/notice.ts";
import { DAY_MS, MINUTE_MS } from "../domain/time.ts";
import type { Clock } from "../ports.ts";
import { type Change, findDueTopic, postponeTopic, type Topic, takeChanges } from "../store/queries/audit.ts";
import { countUndelivered, listFailingShops } from "../store/queries/delivery-health.ts";
import { listMailsOn, type MailState } from "../store/queries/mail-queue.ts";
import {
	claimNoticeMail,
	claimStaffMail,
	findNoticesToMail,
	findProgrammeToMail,
	markMailed,
	postponeNoticeMail,
} from "../store/queries/notices.ts";
import { findPersonById } from "../store/queries/people.ts";
import { addresseesOf, findStaffToTell } from "../store/queries/programme-people.ts";
import { findProgrammesById } from "../store/queries/programmes.ts";
import type { Db, Store } from "../store/store.ts";
import { composeAccountChangeMail, composeProgrammeChangeMail, composeStandingMail } from "./change-mail.ts";
import type { MailDispatcher, WrittenMail } from "./dispatcher.ts";
import { composeNoticeMail, composeStaffMail } from "./notice-mail.ts";

export interface TellDeps {
	store: Store;
	clock: Clock;
	mails: MailDispatcher;
	publicUrl: string;
}

type Letter = Pick<WrittenMail, "to" | "subject" | "text">;

/** What is due to be told to the same readers. */
interface News {
	/** Of the mails. */
	topic: string;
	/** From one mail on the topic to the next. */
	intervalMs: number;
	goodForMs: number;
	postpone(trx: Db, untilMs: number): Promise<void>;
	/** Takes the news, and says in words what there is to tell; nothing when another process was faster. */
	write(trx: Db, nowMs: number): Promise<readonly Letter[]>;
}

/** The one that has waited the longest. */
type FindNews = (db: Db, nowMs: number) => Promise<News | undefined>;

/** A round's worth, so that other work gets its time; the next round takes the rest. */
const MAX_NEWS_A_ROUND = 50;
/** While the server has answered to no mail of the last news: one is to come already, and what is new goes into the next. */
const WAIT_FOR_LAST_MS = MINUTE_MS;
/** What had to wait for a mail server to be set up is still told, because each line says when it happened. */
const CHANGES_GOOD_FOR_MS = 2 * DAY_MS;
/** A final failure is told, however long the mail server is away (contract section 7). */
const NOTICES_GOOD_FOR_MS = 30 * DAY_MS;

export function tellChanges(deps: TellDeps, isStopping: () => boolean): Promise<void> {
	return tell(deps, isStopping, async (db, nowMs) => {
		const topic = await findDueTopic(db, nowMs);
		return topic && newsOfChanges(topic, deps.publicUrl);
	});
}

export function tellNotices(deps: TellDeps, isStopping: () => boolean): Promise<void> {
	return tell(deps, isStopping, async (db, nowMs) => {
		const due = await findProgrammeToMail(db, nowMs);
		return due === undefined
			? newsForStaff(db, nowMs, deps.publicUrl)
			: newsOfCallbacks(due.programmeId, deps.publicUrl);
	});
}

/** Also has mails sent that failed before and are due by now. */
async function tell(deps: TellDeps, isStopping: () => boolean, find: FindNews): Promise<void> {
	const { store, clock, mails } = deps;
	try {
		for (let told = 0; told < MAX_NEWS_A_ROUND && !isStopping(); told++) {
			const nowMs = clock.nowMs();
			const news = await find(store.db, nowMs);
			if (news === undefined) break;
			await store.transact((trx) => tellOne(trx, mails, news, nowMs));
		}
	} finally {
		if (!isStopping()) mails.wake();
	}
}

async function tellOne(trx: Db, mails: MailDispatcher, news: News, nowMs: number): Promise<void> {
	const { topic, goodForMs } = news;
	const allowedAtMs = nextMailAtMs(await listMailsOn(trx, topic), news.intervalMs, nowMs);
	if (allowedAtMs > nowMs) return news.postpone(trx, allowedAtMs);
	for (const letter of await news.write(trx, nowMs)) {
		await mails.enqueue(trx, { ...letter, topic, goodForMs, writtenAtMs: nowMs });
	}
}

/** Counted from when the first reader got the last mail, which went to all of them at one moment. */
function nextMailAtMs(earlier: readonly MailState[], intervalMs: number, nowMs: number): number {
	const writtenAtMs = earlier[0]?.created_at_ms ?? Number.NEGATIVE_INFINITY;
	const last = earlier.filter((mail) => mail.created_at_ms === writtenAtMs);
	const sentAtMs = last.flatMap((mail) => mail.sent_at_ms ?? []);
	const isWaiting = sentAtMs.length === 0 && last.some((mail) => mail.due_at_ms !== null && mail.tries === 0);
	return isWaiting ? nowMs + WAIT_FOR_LAST_MS : Math.max(writtenAtMs, ...sentAtMs) + intervalMs;
}

function newsOfChanges(topic: Topic, publicUrl: string): News {
	return {
		topic: topic.name,
		intervalMs: TELL_INTERVALS_MS[topic.personId === null ? "owners" : "person"],
		goodForMs: CHANGES_GOOD_FOR_MS,
		postpone: (trx, untilMs) => postponeTopic(trx, topic.name, untilMs),
		async write(trx) {
			const changes = await takeChanges(trx, topic.name);
			if (changes.length === 0) return [];
			if (topic.personId !== null) return writeToPerson(trx, topic.personId, changes, publicUrl);
			return topic.programmeId === null ? [] : writeToOwners(trx, topic.programmeId, changes, publicUrl);
		},
	};
}

async function writeToPerson(
	trx: Db,
	personId: number,
	changes: readonly Change[],
	publicUrl: string,
): Promise<Letter[]> {
	const person = await findPersonById(trx, personId);
	if (person === undefined) return [];
	// A mail of its own: advice about a changed password is of no use to somebody whose access or role has changed.
	const { standing = [], account = [] } = Object.groupBy(changes, ({ action }) =>
		action === "person.removed" || action === "person.role_changed" ? "standing" : "account",
	);
	const programmes = await findProgrammesById(
		trx,
		standing.flatMap(({ programme_id }) => programme_id ?? []),
	);
	const isDeactivated = person.deactivated_at_ms !== null;
	const words = [
		...(standing.length === 0 ? [] : [composeStandingMail(person, standing, programmes)]),
		...(account.length === 0 ? [] : [composeAccountChangeMail(person, account, publicUrl, isDeactivated)]),
	];
	return words.map((mail) => ({ to: person.email, ...mail }));
}

async function writeToOwners(
	trx: Db,
	programmeId: number,
	changes: readonly Change[],
	publicUrl: string,
): Promise<Letter[]> {
	const programme = (await findProgrammesById(trx, [programmeId])).get(programmeId);
	if (programme === undefined) return [];
	const owners = await addresseesOf(trx, programmeId, ["owner"]);
	const toldTo = (email: string) => changes.filter((change) => !isKnownTo(email, change));
	// An import mails nobody whom it adds.
	const added = changes.filter(({ action }) => action === "person.imported").map(({ subject }) => subject);
	return owners
		.filter(({ email }) => toldTo(email).length > 0 && !added.includes(email))
		.map((owner) => ({
			to: owner.email,
			...composeProgrammeChangeMail(owner, programme, toldTo(owner.email), publicUrl),
		}));
}

/**
 * That they were invited themselves has a mail of its own, that they joined they know, and so does whoever sent an
 * invitation: if it was a thief in their session, they hear of it when it is accepted.
 */
function isKnownTo(email: string, { action, subject, actor }: Change): boolean {
	if (action === "person.invited") return email === subject || email === actor?.email;
	return action === "person.joined" && email === subject;
}

function newsOfCallbacks(programmeId: number, publicUrl: string): News {
	return {
		topic: callbacksTopic(programmeId),
		intervalMs: MAIL_INTERVAL_MS,
		goodForMs: NOTICES_GOOD_FOR_MS,
		postpone: (trx, untilMs) => postponeNoticeMail(trx, programmeId, untilMs),
		async write(trx, nowMs) {
			const notices = await findNoticesToMail(trx, programmeId);
			if (notices.length === 0) return [];
			// Its owner may come later, and is mailed then. Until then the page says it.
			if ((await addresseesOf(trx, programmeId, MAILED_ROLES)).length === 0) {
				await postponeNoticeMail(trx, programmeId, nowMs + MAIL_INTERVAL_MS);
				return [];
			}
			if (!(await claimNoticeMail(trx, programmeId, nowMs - MAIL_INTERVAL_MS, nowMs))) {
				await postponeNoticeMail(trx, programmeId, nowMs + WAIT_FOR_LAST_MS);
				return [];
			}
			const programme = (await findProgrammesById(trx, [programmeId])).get(programmeId);
			if (programme === undefined) return [];
			const kinds = [...new Set(notices.map(({ kind }) => kind))];
			// The page tells those who want no mail.
			const readers = await addresseesOf(trx, programmeId, MAILED_ROLES, kinds);
			const to = readers.map(({ email }) => email);
			for (const notice of notices) await markMailed(trx, notice, to, nowMs);
			const undelivered = await countUndelivered(trx, programmeId);
			const view = { programme, notices, undelivered, nowMs };
			return readers.map(({ email, zone }) => ({
				to: email,
				...composeNoticeMail({ ...view, zone }, { publicUrl }),
			}));
		},
	};
}

const STAFF_INTERVAL_MS = DAY_MS;
/** The page of all programmes has the rest. */
const MOST_SHOPS_TOLD = 20;

/** One mail of all shops that fail now; none while all is well. */
async function newsForStaff(db: Db, nowMs: number, publicUrl: string): Promise<News | undefined> {
	const notSinceMs = nowMs - STAFF_INTERVAL_MS;
	const readers = await findStaffToTell(db, notSinceMs);
	if (readers.length === 0) return undefined;
	const failing = await listFailingShops(db, MOST_SHOPS_TOLD, nowMs);
	if (failing.shops.length === 0) return undefined;
	return {
		topic: "staff:failing",
		intervalMs: STAFF_INTERVAL_MS,
		goodForMs: STAFF_INTERVAL_MS,
		postpone: async (trx, untilMs) => void (await claimStaffMail(trx, nowMs, untilMs - STAFF_INTERVAL_MS)),
		write: async (trx) =>
			(await claimStaffMail(trx, notSinceMs, nowMs))
				? readers.map(({ email, zone }) => ({ to: email, ...composeStaffMail(failing, zone, publicUrl) }))
				: [],
	};
}
