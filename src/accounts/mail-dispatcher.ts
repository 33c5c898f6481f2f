// Mail about accounts. It is written into the database first, in the transaction of what it tells of, and sent later: a
// page answers at once, in the same time whether or not a mail goes out, and a restart loses none. What the mail server
// does not take is tried again; whoever stops the service waits for the one that is under way.

import { sayMailError, sayMailReply } from "../domain/mail-reply.ts";
import { openMail, SEALING_IV_BYTES, sealMail } from "../domain/sealing.ts";
import { MINUTE_MS } from "../domain/time.ts";
import { nextMailTryAtMs } from "../domain/told-changes.ts";
import type { Clock, Log, Mail, Mailer, MailRefusal, Random } from "../ports.ts";
import {
	claimQueuedMail,
	findDueMail,
	finishMail,
	insertMail,
	postponeMail,
	type QueuedMail,
} from "../store/mail-queue.ts";
import type { Db, Store } from "../store/store.ts";

export interface AccountMail {
	to: string;
	subject: string;
	text: string;
	/** After this it is of no use: a link in it has ended, or it is no news. */
	goodForMs: number;
	/** Where more of the same would be a flood. */
	topic?: string;
	/** Written like any other, so that the time it takes tells nothing, and never sent. */
	isWithheld?: boolean;
}

export interface MailDispatcher {
	/** False without SMTP_URL: links then have to be handed over by people. */
	isOn: boolean;
	/** In the transaction of what it tells of. To be followed by `wake` when that has ended well. */
	enqueue(trx: Db, mail: AccountMail): Promise<void>;
	/** One that was tried elsewhere and refused for good: staff see it among those that were given up. */
	noteRefused(trx: Db, mail: { to: string; subject: string; refusal: string }): Promise<void>;
	/**
	 * Outside of any transaction, after the answer, and a restart may lose it: for a link that somebody forgot their
	 * password for, where writing it before the answer would tell who has an account.
	 */
	send(mail: AccountMail): void;
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
/** Per round; the next one takes the rest. */
const MAX_MAILS_A_ROUND = 100;
/** How often the event loop is let run first: by then the answer to whoever asked is on its way. */
const YIELDS_BEFORE_WORK = 3;

export function createMailDispatcher(deps: MailDispatcherDeps): MailDispatcher {
	const { store, clock, log, mailer } = deps;
	const underWay = new Set<Promise<void>>();
	let isWanted = false;
	let isRunning = false;
	let isStopping = false;

	/** Everything that nobody waits for goes through here, so that a stop can. */
	function supervise(work: Promise<void>, failure: string): void {
		const supervised = work
			.catch((error: unknown) => log.error({ err: error }, failure))
			.finally(() => underWay.delete(supervised));
		underWay.add(supervised);
	}

	function wake(): void {
		if (mailer === null) return;
		isWanted = true;
		if (isRunning) return;
		isRunning = true;
		const rounds = async () => {
			await letAnswerOut();
			while (isWanted) {
				isWanted = false;
				// A command that mails somebody stops right after: its one mail still goes.
				await sendDue({ ...deps, mailer }, () => (isStopping ? 1 : MAX_MAILS_A_ROUND));
			}
		};
		supervise(
			rounds().finally(() => {
				isRunning = false;
			}),
			"mails could not be read from the database; trying again",
		);
	}

	return {
		isOn: mailer !== null,
		async enqueue(trx, mail) {
			if (mailer !== null) await writeMail(trx, deps, mail);
		},
		async noteRefused(trx, { to, subject, refusal }) {
			const nowMs = clock.nowMs();
			await insertMail(trx, {
				to_address: to,
				subject,
				created_at_ms: nowMs,
				good_until_ms: nowMs,
				given_up_at_ms: nowMs,
				refusal: sayMailReply(refusal),
			});
		},
		send(mail) {
			if (mailer === null) return;
			// Neither the text nor the address is logged: the one holds a link, the other is nobody's business.
			supervise(writeLater(mail), "a mail could not be written; it is lost");
		},
		wake,
		settled,
		async stop() {
			isStopping = true;
			await settled();
		},
	};

	/** Once the answer is out: the time of a write would tell whether there is anybody to mail. */
	async function writeLater(mail: AccountMail): Promise<void> {
		await letAnswerOut();
		await writeMail(store.db, deps, mail);
		wake();
	}

	async function letAnswerOut(): Promise<void> {
		for (let count = 0; count < YIELDS_BEFORE_WORK; count++) await clock.yieldLoop();
	}

	async function settled(): Promise<void> {
		while (underWay.size > 0) await Promise.all(underWay);
	}
}

async function writeMail(
	db: Db,
	{ clock, random, sealingKey }: MailDispatcherDeps,
	{ to, subject, text, goodForMs, topic, isWithheld = false }: AccountMail,
): Promise<void> {
	const nowMs = clock.nowMs();
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
	for (let sent = 0; sent < limit(); sent++) {
		const mail = await findDueMail(deps.store.db, deps.clock.nowMs());
		if (mail === undefined) return;
		if (!(await claimQueuedMail(deps.store.db, mail, deps.clock.nowMs() + CLAIM_MS))) continue;
		if (!(await sendOne(deps, mail))) return;
	}
}

/** False when the server failed. */
async function sendOne(deps: SendingDeps, mail: QueuedMail): Promise<boolean> {
	const { store, clock, log, mailer, sealingKey } = deps;
	const { id, subject } = mail;
	const text = mail.sealed_text === null ? null : openMail(sealingKey, mail.to_address, mail.sealed_text);
	if (text === null || mail.good_until_ms <= clock.nowMs()) {
		log.error({ subject }, "a mail was not sent: it is too late for it, or it does not open with this key");
		const refusal = "It is too late for it, or it cannot be opened with this sealing key.";
		await finishMail(store.db, id, { given_up_at_ms: clock.nowMs(), refusal });
		return true;
	}
	const failure = await trySending(mailer, { to: [mail.to_address], subject, text });
	if (failure === null) {
		await finishMail(store.db, id, { sent_at_ms: clock.nowMs() });
		return true;
	}
	const nextAtMs = nextMailTryAtMs(mail.tries + 1, clock.nowMs(), mail.good_until_ms);
	log.error({ ...failure, subject, nextAtMs }, "a mail could not be sent");
	if (nextAtMs === null) {
		await finishMail(store.db, id, { given_up_at_ms: clock.nowMs(), refusal: wordsOf(failure) });
	} else await postponeMail(store.db, id, nextAtMs);
	return !("err" in failure);
}

/** `err`: the server failed. `reason`: it does not take this mail. */
async function trySending(
	mailer: Mailer,
	mail: Mail,
): Promise<{ err: unknown } | Omit<MailRefusal, "to"> | null> {
	try {
		const [refusal] = await mailer.send(mail);
		// The address is nobody's business: it is not logged.
		return refusal === undefined ? null : { reason: refusal.reason, isPermanent: refusal.isPermanent };
	} catch (err) {
		return { err };
	}
}

function wordsOf(failure: { err: unknown } | { reason: string }): string {
	if ("reason" in failure) return sayMailReply(failure.reason);
	return sayMailError(failure.err);
}
