// The mail queue, and the dispatcher that sends the mails in it. A mail is stored in the transaction of the
// event that it reports, and sent afterwards. So a page answers in the same time whether or not it causes a
// mail, and a restart loses no mail. Each row has one recipient, so an address that the mail server refuses
// delays no other recipient.
//
//   waiting ──the server accepts it──▶ sent
//   waiting ──the server itself fails──▶ waiting, for a minute, any number of times
//   waiting ──the server refuses this mail──▶ waiting, for the next of seven delays
//   waiting ──refused after the last delay, or expired──▶ given up
//
// The System page shows staff which mails were refused or given up.

import { createSingleFlight } from "../../concurrency/single-flight.ts";
import type { KeyRing } from "../domain/key-ring.ts";
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
import { storeMailRefusal } from "../store/queries/notices.ts";
import { findMailZone } from "../store/queries/people.ts";
import { sealingKeyIn } from "../store/queries/sealing-key.ts";
import type { Db, Store } from "../store/store.ts";
import { sayMailError } from "./network-mailer.ts";

export interface WrittenMail extends Pick<Mail, "to" | "subject" | "text"> {
	/** Time after which the mail is useless, because its link has expired or its news is out of date. */
	goodForMs: number;
	/**
	 * Topic of the mail. The number of mails on one topic is limited. A mail that somebody requested has no
	 * topic.
	 */
	topic?: string;
	/**
	 * Time at which the mail was written, by default now. Mails to several recipients about one event share this time,
	 * which marks them as belonging together.
	 */
	writtenAtMs?: number;
	/**
	 * True for a mail that is stored but never sent. Storing the mail makes the response time the same as for a mail
	 * that is sent.
	 */
	isWithheld?: boolean;
}

export interface MailDispatcher {
	/** True if SMTP_URL is set, so that mail can be sent. Otherwise people must pass links on themselves. */
	isOn: boolean;
	/** Stores a mail in the caller's transaction. The caller must call `wake` after the commit. */
	enqueue(trx: Db, mail: WrittenMail): Promise<void>;
	/**
	 * Stores a mail in a separate transaction after the response was sent. A restart may lose the mail. This
	 * function is for requests of strangers, because their response time must not reveal whether an account
	 * exists.
	 */
	later(write: (trx: Db) => Promise<WrittenMail | null>): void;
	/** Starts sending the mails that are due, after the response to the current request was sent. */
	wake(): void;
	settled(): Promise<void>;
	/** Finishes sending the present mail, and leaves the other mails for the next start. */
	stop(): Promise<void>;
}

export interface MailDispatcherDeps {
	store: Store;
	clock: Clock;
	random: Random;
	keyRing: KeyRing;
	mailer: Mailer | null;
	log: Log;
}

/**
 * Time for which a process claims a mail before it sends it. If the process dies, another process may take
 * the mail after this time.
 */
const CLAIM_MS = 2 * MINUTE_MS;
/**
 * Time for which a process claims a mail that has a topic, which means that nobody requested it. It is longer than
 * CLAIM_MS, because nobody may get two mails on one topic within 15 minutes. If a process dies, the mail server may
 * already have accepted its mail, and the next process sends that mail a second time.
 */
const NEWS_CLAIM_MS = 15 * MINUTE_MS;
/** Maximum number of mails in one round of sending. The next round sends the rest. */
const MAX_MAILS_A_ROUND = 100;
/**
 * Number of event-loop rounds before sending starts. By then the response to the current request has been
 * sent.
 */
const YIELDS_BEFORE_WORK = 3;
/** Delay before the next try after the mail server itself failed. */
const SERVER_RETRY_MS = MINUTE_MS;
/** Age from which a mail says that it was delayed. */
const LATE_MS = 10 * MINUTE_MS;
/**
 * Delays after the mail server refused a mail. Together with the first try, these are eight tries in about a
 * day.
 */
const RETRY_DELAYS_MS = [1, 5, 15, 60, 180, 360, 720].map((minutes) => minutes * MINUTE_MS);

export function createMailDispatcher(deps: MailDispatcherDeps): MailDispatcher {
	const { store, clock, log, mailer } = deps;
	let isStopping = false;
	const mailsToWrite = new Set<Promise<void>>();
	const sending = createSingleFlight({
		async run() {
			if (mailer === null) return;
			await waitUntilAnswered();
			// A command on the command line that mails somebody stops the dispatcher right after it called `wake`.
			// The one mail of the command must still be sent.
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
			// Neither text nor address is logged, because the text may contain a link and the address is private.
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
	trx: Db,
	{ clock, random, keyRing }: MailDispatcherDeps,
	{ to, subject, text, goodForMs, topic, writtenAtMs, isWithheld = false }: WrittenMail,
): Promise<void> {
	const nowMs = writtenAtMs ?? clock.nowMs();
	const key = await sealingKeyIn(trx, keyRing);
	const sealed = sealMail(key, to, text, random.bytes(SEALING_IV_BYTES));
	await insertMail(trx, {
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

/**
 * Sends mails until none is due. It stops early if the mail server itself fails, because then all other mails
 * would fail, too.
 */
async function sendDue(deps: SendingDeps, limit: () => number): Promise<void> {
	// If the clock is not known to be right, nothing is sent, because a mail could wrongly look expired and be
	// given up.
	for (let sent = 0; sent < limit() && deps.clock.isSure(); sent++) {
		const mail = await findDueMail(deps.store.db, deps.clock.nowMs());
		if (mail === undefined) return;
		const claimMs = mail.topic === null ? CLAIM_MS : NEWS_CLAIM_MS;
		if (!(await claimQueuedMail(deps.store.db, mail, deps.clock.nowMs() + claimMs))) continue;
		if (!(await sendOne(deps, mail))) return;
	}
}

async function sendOne(deps: SendingDeps, mail: QueuedMail): Promise<boolean> {
	const { store, clock, log, mailer, keyRing } = deps;
	const { id, subject, good_until_ms: goodUntilMs } = mail;
	const text = mail.sealed_text === null ? null : openMail(keyRing, mail.to_address, mail.sealed_text);
	if (text === null || goodUntilMs <= clock.nowMs()) {
		const reason = mail.refusal ?? "It is too late for it, or it cannot be opened with this sealing key.";
		await giveUp(deps, mail, { reason });
		return true;
	}
	const isLate = clock.nowMs() - mail.created_at_ms >= LATE_MS;
	const lateness = isLate ? describeLateness(mail, await findMailZone(store.db, mail.to_address)) : "";
	const failure = await trySending(mailer, { to: mail.to_address, subject, text: `${lateness}${text}` });
	if (failure === null) {
		await finishMail(store.db, id, { sent_at_ms: clock.nowMs() });
		return true;
	}
	const { reason: refusal, isServerFailure } = failure;
	const delayMs = isServerFailure ? SERVER_RETRY_MS : RETRY_DELAYS_MS[mail.tries];
	// Even a permanent refusal (5xx) is retried, because our settings may be the cause and be corrected within
	// the day.
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

/**
 * Returns a first paragraph with the time of writing if the mail is late, because its Date header has the
 * time of sending.
 */
function describeLateness({ created_at_ms: writtenAtMs }: QueuedMail, zone: string): string {
	return `This mail was written at ${minuteIn(writtenAtMs, zone)} and could not be sent earlier.\n\n`;
}

/**
 * Gives up on a mail. The recipient's address is private, so it is not logged. Staff see the address on the
 * System page, and the programme's people see it on the notice.
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
		if (receiverId !== null) await storeMailRefusal(trx, receiverId, writtenAtMs, to);
	});
}

interface Failure {
	reason: string;
	/** True if the mail server itself failed, so that it would accept no other mail either. */
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
