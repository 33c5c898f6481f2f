// Turns news into mails. The first news on a topic is mailed at once, and later news is collected, so that a
// busy hour does not cause a flood of mails. There are two kinds of news: changes to accounts and programmes
// (marked audit entries), and notices about callbacks. Each is stored in the transaction of the event that it
// reports. The transaction that claims the news also puts the mails into the queue, so all news is mailed,
// and none twice, even if a process dies.

import { type AuditAction, audienceOf, TELL_INTERVALS_MS } from "../domain/action.ts";
import { callbacksTopic, MAIL_INTERVAL_MS, MAILED_ROLES, type MailKind } from "../domain/notice.ts";
import { DAY_MS, MINUTE_MS } from "../domain/time.ts";
import type { Clock, Mail } from "../ports.ts";
import { type Change, findDueTopic, postponeTopic, type Topic, takeChanges } from "../store/queries/audit.ts";
import { countFailing, countUndelivered, listFailing } from "../store/queries/delivery-health.ts";
import { listMailsOn, type MailState } from "../store/queries/mail-queue.ts";
import {
	claimNoticeMail,
	claimStaffMail,
	findNoticesToMail,
	findReceiverToMail,
	markMailed,
	postponeNoticeMail,
	type ReceiverToMail,
} from "../store/queries/notices.ts";
import { listPartnersOf } from "../store/queries/partner-people.ts";
import { findPartnerById } from "../store/queries/partners.ts";
import { hasPassword } from "../store/queries/passwords.ts";
import { findMailZone, findPersonById } from "../store/queries/people.ts";
import {
	type Addressee,
	addresseesOf,
	addresseesOfPartner,
	findStaffToTell,
} from "../store/queries/programme-people.ts";
import { findProgrammesById } from "../store/queries/programmes.ts";
import type { Db, Store } from "../store/store.ts";
import {
	composeAccountChangeMail,
	composeNetworkChangeMail,
	composePartnerChangeMail,
	composeProgrammeChangeMail,
	composeStandingMail,
} from "./change-mail.ts";
import type { MailDispatcher, WrittenMail } from "./dispatcher.ts";
import { composeNoticeMail, composeStaffMail, type NoticeMailView } from "./notice-mail.ts";

export interface TellDeps {
	store: Store;
	clock: Clock;
	mails: MailDispatcher;
	publicUrl: string;
}

export type Letter = Pick<WrittenMail, "to" | "subject" | "text">;

/** News that is due to be mailed to one group of readers. */
export interface News {
	/** Topic of the mails. The interval between mails is measured for each topic. */
	topic: string;
	intervalMs: number;
	goodForMs: number;
	postpone(trx: Db, untilMs: number): Promise<void>;
	/**
	 * Claims the news and returns the mails about it. Returns no mails if another process claimed the news
	 * first.
	 */
	write(trx: Db, nowMs: number): Promise<readonly Letter[]>;
}

/** Finds the news that has been due for the longest time. */
type FindNews = (db: Db, nowMs: number) => Promise<News | undefined>;

/**
 * Maximum number of news items in one round, so that other work gets its turn. The next round handles further items.
 */
const MAX_NEWS_A_ROUND = 50;
/**
 * Delay before the next check while a mail with earlier news has not been tried yet. New events wait until
 * that mail was sent.
 */
const WAIT_FOR_LAST_MS = MINUTE_MS;
/**
 * Lifetime of a mail about changes. Such a mail may have to wait until a mail server is set up. It stays
 * correct, because each line says when the change happened.
 */
const CHANGES_GOOD_FOR_MS = 2 * DAY_MS;
/**
 * Lifetime of a mail about a final failure. It must reach its readers even if the mail server is down for
 * days (contract section 7).
 */
const NOTICES_GOOD_FOR_MS = 30 * DAY_MS;

export function tellChanges(deps: TellDeps, isStopping: () => boolean): Promise<void> {
	return tell(deps, isStopping, async (db, nowMs) => {
		const topic = await findDueTopic(db, nowMs);
		return topic && newsOfChanges(topic, deps.publicUrl);
	});
}

export function tellNotices(deps: TellDeps, isStopping: () => boolean): Promise<void> {
	return tell(deps, isStopping, async (db, nowMs) => {
		const due = await findReceiverToMail(db, nowMs);
		return due === undefined ? newsForStaff(db, nowMs, deps.publicUrl) : newsOfCallbacks(due, deps.publicUrl);
	});
}

/** Writes mails for all news that is due, and then wakes the dispatcher, which also retries earlier mails. */
export async function tell(
	deps: TellDeps,
	isStopping: () => boolean,
	find: FindNews,
	maxNews = MAX_NEWS_A_ROUND,
): Promise<void> {
	const { store, clock, mails } = deps;
	try {
		for (let round = 0; round < maxNews && !isStopping(); round++) {
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

/**
 * Returns the earliest time for the next mail on a topic. The previous mail may have gone to several readers, and the
 * interval starts when the first of them got it. Otherwise one slow mailbox would delay the next mail to everybody.
 */
export function nextMailAtMs(earlier: readonly MailState[], intervalMs: number, nowMs: number): number {
	const writtenAtMs = earlier[0]?.created_at_ms ?? Number.NEGATIVE_INFINITY;
	const last = earlier.filter((mail) => mail.created_at_ms === writtenAtMs);
	const sentAtMs = last.flatMap((mail) => mail.sent_at_ms ?? []);
	const isWaiting = sentAtMs.length === 0 && last.some((mail) => mail.due_at_ms !== null && mail.tries === 0);
	if (isWaiting) return nowMs + WAIT_FOR_LAST_MS;
	const firstAtMs = sentAtMs.length === 0 ? writtenAtMs : Math.min(...sentAtMs);
	return firstAtMs + intervalMs;
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
	const isDeactivated = person.deactivated_at_ms !== null;
	// A person who has not joined yet gets only the invitation. A deactivated one is mailed about the end of their access.
	if (!isDeactivated && !(await hasPassword(trx, personId))) return [];
	// Changes of access and role get a separate mail, because the advice for a changed password does not help
	// these readers.
	const {
		standing = [],
		partner = [],
		network = [],
		account = [],
	} = Object.groupBy(changes, ({ action }) => {
		if (STANDING_ACTIONS.includes(action)) return "standing";
		if (audienceOf(action) === "staff") return "network";
		return audienceOf(action) === "colleagues" ? "partner" : "account";
	});
	const programmes = await findProgrammesById(
		trx,
		standing.flatMap(({ programme_id }) => programme_id ?? []),
	);
	const reader = { email: person.email, zone: await findMailZone(trx, person.email) };
	const words = [
		...(standing.length === 0 ? [] : [composeStandingMail(reader, standing, programmes)]),
		...(account.length === 0 ? [] : [composeAccountChangeMail(reader, account, publicUrl, isDeactivated)]),
		...(partner.length === 0 ? [] : await composePartnerMails(trx, personId, reader, partner, publicUrl)),
		...(network.length === 0 || isDeactivated ? [] : [composeNetworkChangeMail(reader, network, publicUrl)]),
	];
	return words.map((mail) => ({ to: person.email, ...mail }));
}

const STANDING_ACTIONS: readonly string[] = [
	"person.removed",
	"person.role_changed",
	"staff.removed",
] satisfies AuditAction[];

/** Composes a mail for each partner. Nobody is mailed about a partner for which they no longer sign in. */
async function composePartnerMails(
	trx: Db,
	personId: number,
	reader: Addressee,
	changes: readonly Change[],
	publicUrl: string,
): Promise<Omit<Mail, "to">[]> {
	const partners = await listPartnersOf(trx, personId);
	return partners.flatMap((partner) => {
		const ofPartner = changes.filter(({ subject }) => subject === partner.public_id);
		return ofPartner.length === 0 ? [] : [composePartnerChangeMail(reader, partner, ofPartner, publicUrl)];
	});
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
	// People whom an import adds get no mail about the import.
	const added = changes.filter(({ action }) => action === "person.imported").map(({ subject }) => subject);
	return owners
		.filter(({ email }) => toldTo(email).length > 0 && !added.includes(email))
		.map((owner) => ({
			to: owner.email,
			...composeProgrammeChangeMail(owner, programme, toldTo(owner.email), publicUrl),
		}));
}

/**
 * Returns whether the reader knows of the change without this mail. An invited person gets the invitation
 * itself, and a person who joined or sent an invitation did so themselves. If a thief sent an invitation in
 * somebody's session, that person is mailed when it is accepted.
 */
function isKnownTo(email: string, { action, subject, actor }: Change): boolean {
	if (action === "person.invited") return email === subject || email === actor?.email;
	return action === "person.joined" && email === subject;
}

function newsOfCallbacks(due: ReceiverToMail, publicUrl: string): News {
	const { receiverId } = due;
	return {
		topic: callbacksTopic(receiverId),
		intervalMs: MAIL_INTERVAL_MS,
		goodForMs: NOTICES_GOOD_FOR_MS,
		postpone: (trx, untilMs) => postponeNoticeMail(trx, receiverId, untilMs),
		async write(trx, nowMs) {
			const notices = await findNoticesToMail(trx, receiverId);
			if (notices.length === 0) return [];
			// A programme may have no owner yet. The first owner is mailed as soon as there is one, and until then only the
			// page shows the notice. The same holds for a partner without people.
			if ((await readersOf(trx, due)).length === 0) {
				await postponeNoticeMail(trx, receiverId, nowMs + MAIL_INTERVAL_MS);
				return [];
			}
			if (!(await claimNoticeMail(trx, receiverId, nowMs - MAIL_INTERVAL_MS, nowMs))) {
				await postponeNoticeMail(trx, receiverId, nowMs + WAIT_FOR_LAST_MS);
				return [];
			}
			const owner = await findOwner(trx, due);
			if (owner === undefined) return [];
			const kinds = [...new Set(notices.map(({ kind }) => kind))];
			// People who switched off mails about callbacks get none. They see the notice on the page.
			const readers = await readersOf(trx, due, kinds);
			const to = readers.map(({ email }) => email);
			for (const notice of notices) await markMailed(trx, notice, to, nowMs);
			const undelivered = await countUndelivered(trx, receiverId);
			const view = { owner, notices, undelivered, nowMs };
			return readers.map(({ email, zone }) => ({
				to: email,
				...composeNoticeMail({ ...view, zone }, { publicUrl }),
			}));
		},
	};
}

function readersOf(
	trx: Db,
	{ programmeId, partnerId }: ReceiverToMail,
	kinds?: readonly MailKind[],
): Promise<Addressee[]> {
	if (programmeId !== null) return addresseesOf(trx, programmeId, MAILED_ROLES, kinds);
	return addresseesOfPartner(trx, partnerId ?? 0, kinds);
}

async function findOwner(
	trx: Db,
	{ programmeId, partnerId }: ReceiverToMail,
): Promise<NoticeMailView["owner"] | undefined> {
	if (programmeId !== null) {
		const programme = (await findProgrammesById(trx, [programmeId])).get(programmeId);
		return programme && { kind: "shop", name: programme.name, public_id: programme.public_id };
	}
	const partner = partnerId === null ? undefined : await findPartnerById(trx, partnerId);
	return partner && { kind: "partner", name: partner.name, public_id: partner.public_id };
}

const STAFF_INTERVAL_MS = DAY_MS;
/** Maximum number of shops, and of partners, that the mail names. It links to the pages that list all of them. */
const MOST_NAMED = 20;

/** Returns one mail to staff about all shops and partners whose callbacks fail now, or undefined if there are none. */
async function newsForStaff(db: Db, nowMs: number, publicUrl: string): Promise<News | undefined> {
	const notSinceMs = nowMs - STAFF_INTERVAL_MS;
	const readers = await findStaffToTell(db, notSinceMs);
	if (readers.length === 0) return undefined;
	const shops = await listFailing(db, "shop", MOST_NAMED, nowMs);
	const partners = await listFailing(db, "partner", MOST_NAMED, nowMs);
	if (countFailing(shops) + countFailing(partners) === 0) return undefined;
	return {
		topic: "staff:failing",
		intervalMs: STAFF_INTERVAL_MS,
		goodForMs: STAFF_INTERVAL_MS,
		postpone: async (trx, untilMs) => void (await claimStaffMail(trx, nowMs, untilMs - STAFF_INTERVAL_MS)),
		write: async (trx) =>
			(await claimStaffMail(trx, notSinceMs, nowMs))
				? readers.map(({ email, zone }) => ({
						to: email,
						...composeStaffMail({ shops, partners }, zone, publicUrl),
					}))
				: [],
	};
}
