// A simulated mail server that sometimes refuses a mail, and stores those that it accepts.

import type { Mail } from "#core/ports.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { SentMail } from "./notice-auditor.ts";
import { MailRefused, type ServiceProcess } from "./service-process.ts";
import type { Timeline } from "./timeline.ts";

export type MailServer = ReturnType<typeof createMailServer>;

const MAX_TOOK_MS = 2_000;
/** Subjects of the weekly mail about conversions that wait for a decision, and of mails about statements and payments. */
const IS_ABOUT_MONEY = / for your decision: |^Statement |^Payment of statement /;

export function createMailServer(
	timeline: Timeline,
	random: SeededRandom,
	refusalShare: () => number,
	trace: (line: string) => void,
) {
	const mails: SentMail[] = [];
	return {
		mails,
		take(from: ServiceProcess, mail: Mail) {
			const isRefused = random.chance(refusalShare());
			trace(`mail ${mail.to} ${mail.subject} ${isRefused}`);
			const sent = { to: mail.to, atMs: timeline.nowMs, failures: readFailures(mail.text) };
			if (!isRefused) mails.push({ ...sent, isNotice: !IS_ABOUT_MONEY.test(mail.subject) });
			return new Promise<void>((resolve, reject) => {
				const answer = isRefused ? () => reject(new MailRefused()) : resolve;
				timeline.setOccasion(timeline.nowMs + random.between(1, MAX_TOOK_MS), answer, from);
			});
		},
	};
}

/** Returns the number of failures that the mail's text mentions. */
function readFailures(text: string): number {
	const mentions = text.matchAll(/^(\d+) callbacks? to your (?:shop|server) failed permanently/gm);
	return [...mentions].reduce((sum, [, count]) => sum + Number(count), 0);
}
