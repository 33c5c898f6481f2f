// The one queue of mails and the one that sends them. A mail is a row before it is sent, in the transaction of what it
// tells of: a page answers at once, in the same time whether or not a mail goes out, and a restart loses none. Each row
// has one reader, so that an address which the server refuses holds up nobody else.
//
//   waiting ──the server takes it──▶ sent
//   waiting ──the server itself fails──▶ waiting, for a minute, as often as it takes
//   waiting ──the server refuses this mail──▶ waiting, for the next of seven delays
//   waiting ──refused after the last delay; no news any more──▶ given up
//
// What was refused or given up is listed on System, for staff.

import { createSingleFlight } from "../concurrency/single-flight.ts";
import { programmeOfTopic } from "../domain/notice.ts";
import { openMail, SEALING_IV_BYTES, sealMail } from "../domain/sealing.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { minuteIn } from "../domain/zone-day.ts";
import type { Clock, Log, Mail, Mailer, Random } from "../ports.ts";
import {
	claimQueuedMail,
	findDueMail,
	finishMail,
	insertMail,
	postponeMail,
	type QueuedMail,
} from "../store/queries/mail-queue.ts";
import { noteMailRefused } from "../store/queries/notices.ts";
import type { Db, Store } from "../store/store.ts";
import { sayMailError } from "./network-mailer.ts";

/** Written for one reader. */
export interface WrittenMail extends Pick<Mail, "to" | "subject" | "text"> {
	/** After this it is of no use: a link in it has ended, or it is no news. */
	goodForMs: number;
	/** Where more of the same would be a flood; left out for a mail that somebody asked for. */
	topic?: string;
	/** Otherwise now. What goes to several readers has one time, by which it is known as one piece of news. */
	writtenAtMs?: number;
	/** Written like any other, so that the time it takes tells nothing, and never sent. */
	isWithheld?: boolean;
}

export interface MailDispatcher {
	/** False without SMTP_URL: links then have to be handed over by people. */
	isOn: boolean;
	/** In the transaction of what it tells of. To be followed by `wake` when that has ended well. */
	enqueue(trx: Db, mail: WrittenMail): Promise<void>;
	/**
	 * In a transaction of its own, once the answer is out, and a restart may lose it: for what a stranger asks for, whom
	 * the time of the answer must not tell whether there is anybody to mail.
	 */
	later(write: (trx: Db) => Promise<WrittenMail | null>): void;
	/** Sends what is due now, once the answer to whoever asked is on its way. */
	wake(): void;
	/** Resolves when nothing is under way. */
	settled(): Promise<void>;
	/** Finishes the mail under way and leaves the others to the next start. */
	stop(): Promise<void>;
}

export interface MailDispatcherDeps {
	store: Store;
	clock: Clock;
	random: Random;
	sealingKey: Uint8Array;
	mailer: Mailer | null;
	log: Log;
}

/** While a mail is under way; should this process die, another takes it up after this. */
const CLAIM_MS = 2 * MINUTE_MS;
/** For news: the server may have taken it before the process died, and nobody gets two within fifteen minutes. */
const NEWS_CLAIM_MS = 15 * MINUTE_MS;
/** Per round; the next one takes the rest. */
const MAX_MAILS_A_ROUND = 100;
/** How often the event loop is let run first: by then the answer to whoever asked is on its way. */
const YIELDS_BEFORE_WORK = 3;
/** While the server itself fails. */
const SERVER_RETRY_MS = MINUTE_MS;
/** From then on a mail says that it is late. */
const LATE_MS = 10 * MINUTE_MS;
/** When the server refuses a mail: eight tries, the first one included, over about a day. */
const RETRY_DELAYS_MS = [1, 5, 15, 60, 180, 360, 720].map((minutes) => minutes * MINUTE_MS);

export function createMailDispatcher(deps: MailDispatcherDeps): MailDispatcher {
	const { store, clock, log, mailer } = deps;
	let isStopping = false;
	const mailsToWrite = new Set<Promise<void>>();
	const sending = createSingleFlight({
		async run() {
			if (mailer === null) return;
			await waitUntilAnswered();
			// A command that mails somebody stops right after it called `wake`. Its one mail must still be sent.
			await sendDue({ ...deps, mailer }, () => (isStopping ? 1 : MAX_MAILS_A_ROUND));
		},
		onError: (error) => log.error({ err: error }, "mails could not be read from the database; trying again"),
	});

	async function waitUntilAnswered(): Promise<void> {
		for (let count = 0; count < YIELDS_BEFORE_WORK; count++) await clock.yieldLoop();
	}

	async function writeLater(write: (trx: Db) => Promise<WrittenMail | null>): Promise<void> {
		await waitUntilAnswered();
		try {
			await store.transact(async (trx) => {
				const mail = await write(trx);
				if (mail !== null) await writeMail(trx, deps, mail);
			});
			sending.request();
		} catch (error) {
			// Neither the text nor the address is logged, because the text holds a link and the address is private.
			log.error({ err: error }, "a mail could not be written; it is lost");
		}
	}

	async function whenWritten(): Promise<void> {
		while (mailsToWrite.size > 0) await Promise.all(mailsToWrite);
	}

	return {
		isOn: mailer !== null,
		async enqueue(trx, mail) {
			if (mailer !== null) await writeMail(trx, deps, mail);
		},
		later(write) {
			if (mailer === null) return;
			const written = writeLater(write).finally(() => mailsToWrite.delete(written));
			mailsToWrite.add(written);
		},
		wake: sending.request,
		async settled() {
			await whenWritten();
			await sending.whenIdle();
		},
		async stop() {
			isStopping = true;
			await whenWritten();
			await sending.stop();
		},
	};
}

async function writeMail(
	db: Db,
	{ clock, random, sealingKey }: MailDispatcherDeps,
	{ to, subject, text, goodForMs, topic, writtenAtMs, isWithheld = false }: WrittenMail,
): Promise<void> {
	const nowMs = writtenAtMs ?? clock.nowMs();
	const sealed = sealMail(sealingKey, to, text, random.bytes(SEALING_IV_BYTES));
	await insertMail(db, {
		to_address: to,
		topic: topic ?? null,
		subject,
		sealed_text: isWithheld ? null : sealed,
		created_at_ms: nowMs,
		due_at_ms: isWithheld ? null : nowMs,
		good_until_ms: nowMs + goodForMs,
	});
}

type SendingDeps = MailDispatcherDeps & { mailer: Mailer };

/** Ends when the server itself fails: the next mail would wait for it in vain. */
async function sendDue(deps: SendingDeps, limit: () => number): Promise<void> {
	// By a wrong time a mail could be too late, and given up.
	for (let sent = 0; sent < limit() && deps.clock.isSure(); sent++) {
		const mail = await findDueMail(deps.store.db, deps.clock.nowMs());
		if (mail === undefined) return;
		const claimMs = mail.topic === null ? CLAIM_MS : NEWS_CLAIM_MS;
		if (!(await claimQueuedMail(deps.store.db, mail, deps.clock.nowMs() + claimMs))) continue;
		if (!(await sendOne(deps, mail))) return;
	}
}

/** False when the server failed. */
async function sendOne(deps: SendingDeps, mail: QueuedMail): Promise<boolean> {
	const { store, clock, log, mailer, sealingKey } = deps;
	const { id, subject, good_until_ms: goodUntilMs } = mail;
	const text = mail.sealed_text === null ? null : openMail(sealingKey, mail.to_address, mail.sealed_text);
	if (text === null || goodUntilMs <= clock.nowMs()) {
		const reason = mail.refusal ?? "It is too late for it, or it cannot be opened with this sealing key.";
		await giveUp(deps, mail, { reason });
		return true;
	}
	const lateness = clock.nowMs() - mail.created_at_ms < LATE_MS ? "" : sayLate(mail);
	const failure = await trySending(mailer, { to: mail.to_address, subject, text: `${lateness}${text}` });
	if (failure === null) {
		await finishMail(store.db, id, { sent_at_ms: clock.nowMs() });
		return true;
	}
	const { reason: refusal, isServers } = failure;
	const delayMs = isServers ? SERVER_RETRY_MS : RETRY_DELAYS_MS[mail.tries];
	// Also after a 5xx: the fault may be in our settings, and be put right within the day.
	const nowMs = clock.nowMs();
	if (delayMs === undefined || nowMs + delayMs >= goodUntilMs) {
		await giveUp(deps, mail, failure);
	} else {
		log.warn({ ...failure, subject, nextAtMs: nowMs + delayMs }, "a mail could not be sent; trying again");
		const tries = isServers ? mail.tries : mail.tries + 1;
		await postponeMail(store.db, id, { due_at_ms: nowMs + delayMs, tries, refusal });
	}
	return !isServers;
}

/** What it says was so when it was written, and its header has the time at which it is sent. */
function sayLate({ created_at_ms: writtenAtMs }: QueuedMail): string {
	return `This mail was written at ${minuteIn(writtenAtMs, null)} and could not be sent earlier.\n\n`;
}

/** The address is nobody's business: staff see it on System, its programme's people on the notice, and it is not logged. */
async function giveUp(
	{ store, clock, log }: SendingDeps,
	{ id, topic, subject, created_at_ms: writtenAtMs, to_address: to }: QueuedMail,
	why: Pick<Failure, "reason">,
): Promise<void> {
	log.error({ ...why, subject }, "a mail was given up");
	await store.transact(async (trx) => {
		await finishMail(trx, id, { given_up_at_ms: clock.nowMs(), refusal: why.reason });
		const programmeId = programmeOfTopic(topic);
		if (programmeId !== null) await noteMailRefused(trx, programmeId, writtenAtMs, to);
	});
}

interface Failure {
	reason: string;
	/** The server itself failed: it would take no other mail either. */
	isServers: boolean;
	err?: unknown;
}

async function trySending(mailer: Mailer, mail: Mail): Promise<Failure | null> {
	try {
		const refusal = await mailer.send(mail);
		return refusal === null ? null : { ...refusal, isServers: false };
	} catch (err) {
		return { err, reason: sayMailError(err), isServers: true };
	}
}
