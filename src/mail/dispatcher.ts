// The queue of mails, and the code that sends them. A mail is stored in the transaction of the event that it reports, and
// sent afterwards. So a page answers in the same time whether or not it causes a mail, and a restart loses no mail. Each
// row has one recipient, so that an address which the server refuses delays nobody else.
//
//   waiting ──the server accepts it──▶ sent
//   waiting ──the server itself fails──▶ waiting, for a minute, any number of times
//   waiting ──the server refuses this mail──▶ waiting, for the next of seven delays
//   waiting ──refused after the last delay, or expired──▶ given up
//
// Staff see refused mails and those that were given up on the System page.

import { createSingleFlight } from "../concurrency/single-flight.ts";
import { receiverOfTopic } from "../domain/notice.ts";
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

/** A mail to one recipient. */
export interface WrittenMail extends Pick<Mail, "to" | "subject" | "text"> {
	/** Time after which the mail is useless, because its link has expired or it is no longer news. */
	goodForMs: number;
	/** Topic by which mails about the same subject are limited; left out for a mail that somebody requested. */
	topic?: string;
	/** Time of writing; now by default. Mails about one event to several recipients share it and are recognized by it. */
	writtenAtMs?: number;
	/** True for a mail that is stored but never sent, so that the time of the answer does not reveal whether one is sent. */
	isWithheld?: boolean;
}

export interface MailDispatcher {
	/** False if SMTP_URL is not set. People must then pass links on themselves. */
	isOn: boolean;
	/** Stores a mail in the caller's transaction. The caller calls `wake` after the commit. */
	enqueue(trx: Db, mail: WrittenMail): Promise<void>;
	/**
	 * Stores a mail in a transaction of its own after the answer was sent. A restart may lose it. It is for requests of
	 * strangers, because the time of the answer must not reveal whether an account exists.
	 */
	later(write: (trx: Db) => Promise<WrittenMail | null>): void;
	/** Sends the mails that are due, after the answer to the current request was sent. */
	wake(): void;
	/** Resolves when no mail is being written or sent. */
	settled(): Promise<void>;
	/** Finishes the mail that is being sent and leaves the others to the next start. */
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

/** Time for which a mail belongs to the process that sends it. If that process dies, another one takes it afterwards. */
const CLAIM_MS = 2 * MINUTE_MS;
/**
 * Claim time of mails with a topic. It is longer, because the server may have accepted the mail before the
 * process died, and nobody may get two within 15 minutes.
 */
const NEWS_CLAIM_MS = 15 * MINUTE_MS;
/** Maximum number of mails in one round. The next round sends the rest. */
const MAX_MAILS_A_ROUND = 100;
/** Rounds of the event loop before work starts. By then the answer to the current request has been sent. */
const YIELDS_BEFORE_WORK = 3;
/** Delay after a failure of the server itself. */
const SERVER_RETRY_MS = MINUTE_MS;
/** Age from which a mail says that it is late. */
const LATE_MS = 10 * MINUTE_MS;
/** Delays after the server refused a mail. With the first one, these are eight tries in about a day. */
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

/** Sends mails until none is due or the server itself fails, because the next mail would fail, too. */
async function sendDue(deps: SendingDeps, limit: () => number): Promise<void> {
	// With a wrong clock, a mail could look expired and be given up.
	for (let sent = 0; sent < limit() && deps.clock.isSure(); sent++) {
		const mail = await findDueMail(deps.store.db, deps.clock.nowMs());
		if (mail === undefined) return;
		const claimMs = mail.topic === null ? CLAIM_MS : NEWS_CLAIM_MS;
		if (!(await claimQueuedMail(deps.store.db, mail, deps.clock.nowMs() + claimMs))) continue;
		if (!(await sendOne(deps, mail))) return;
	}
}

/** Returns false if the server itself failed. */
async function sendOne(deps: SendingDeps, mail: QueuedMail): Promise<boolean> {
	const { store, clock, log, mailer, sealingKey } = deps;
	const { id, subject, good_until_ms: goodUntilMs } = mail;
	const text = mail.sealed_text === null ? null : openMail(sealingKey, mail.to_address, mail.sealed_text);
	if (text === null || goodUntilMs <= clock.nowMs()) {
		const reason = mail.refusal ?? "It is too late for it, or it cannot be opened with this sealing key.";
		await giveUp(deps, mail, { reason });
		return true;
	}
	const lateness = clock.nowMs() - mail.created_at_ms < LATE_MS ? "" : describeLateness(mail);
	const failure = await trySending(mailer, { to: mail.to_address, subject, text: `${lateness}${text}` });
	if (failure === null) {
		await finishMail(store.db, id, { sent_at_ms: clock.nowMs() });
		return true;
	}
	const { reason: refusal, isServerFailure } = failure;
	const delayMs = isServerFailure ? SERVER_RETRY_MS : RETRY_DELAYS_MS[mail.tries];
	// A 5xx is retried, too, because its cause may be in our settings and be corrected within the day.
	const nowMs = clock.nowMs();
	if (delayMs === undefined || nowMs + delayMs >= goodUntilMs) {
		await giveUp(deps, mail, failure);
	} else {
		log.warn({ ...failure, subject, nextAtMs: nowMs + delayMs }, "a mail could not be sent; trying again");
		const tries = isServerFailure ? mail.tries : mail.tries + 1;
		await postponeMail(store.db, id, { due_at_ms: nowMs + delayMs, tries, refusal });
	}
	return !isServerFailure;
}

/** Returns a first paragraph with the time of writing, because the mail's own header has the time of sending. */
function describeLateness({ created_at_ms: writtenAtMs }: QueuedMail): string {
	return `This mail was written at ${minuteIn(writtenAtMs, null)} and could not be sent earlier.\n\n`;
}

/**
 * Gives up on a mail. Its address is private: staff see it on the System page and the programme's people on
 * the notice, and it is not logged.
 */
async function giveUp(
	{ store, clock, log }: SendingDeps,
	{ id, topic, subject, created_at_ms: writtenAtMs, to_address: to }: QueuedMail,
	why: Pick<Failure, "reason">,
): Promise<void> {
	log.error({ ...why, subject }, "a mail was given up");
	await store.transact(async (trx) => {
		await finishMail(trx, id, { given_up_at_ms: clock.nowMs(), refusal: why.reason });
		const receiverId = receiverOfTopic(topic);
		if (receiverId !== null) await noteMailRefused(trx, receiverId, writtenAtMs, to);
	});
}

interface Failure {
	reason: string;
	/** True if the server itself failed and would accept no other mail either. */
	isServerFailure: boolean;
	err?: unknown;
}

async function trySending(mailer: Mailer, mail: Mail): Promise<Failure | null> {
	try {
		const refusal = await mailer.send(mail);
		return refusal === null ? null : { ...refusal, isServerFailure: false };
	} catch (err) {
		return { err, reason: sayMailError(err), isServerFailure: true };
	}
}
