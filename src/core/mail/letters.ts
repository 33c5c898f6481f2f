// Composes the mails that somebody requested: invitations, links for a new password or email address, and
// test mails. They are plain text, so that every mail program on every phone can show them. Text that
// strangers chose is quoted. network-mailer adds the lines that say who sends the mail.

import { quote } from "../domain/mail-text.ts";
import { type PersonKind, type ProgrammeRole, ROLE_SUMMARIES } from "../domain/roles.ts";
import { DAY_MS, HOUR_MS } from "../domain/time.ts";
import type { Mail } from "../ports.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Partner } from "../store/tables/partners.ts";
import type { WrittenMail } from "./dispatcher.ts";

/** Time after which a mail without a link is out of date and no longer sent. */
const NEWS_MS = 2 * DAY_MS;

/**
 * The programme or partner that a person is invited to or has joined. A partner may come from an accepted
 * application.
 */
type Membership =
	| { programme: Pick<Programme, "name">; role: ProgrammeRole }
	| {
			partner: Pick<Partner, "name">;
			accepted?: Pick<Programme, "name"> | undefined;
			offers?: readonly Offer[] | undefined;
	  };

/** The conditions of a programme for a partner. */
export interface Offer {
	programmeName: string;
	/** Commissions in words, such as "8 % of the basket". */
	commissions: readonly string[];
	/** Number of days for which a click counts. */
	clickDays: number;
}

/**
 * Number of days for which an invitation is valid. It covers a holiday weekend, and is short in case somebody
 * else reads the mailbox later.
 */
export const INVITATION_DAYS = 7;

/**
 * Composes an invitation. Staff and the command line invite people whose account already exists but has no
 * password. An owner invites the reader of a mailbox, and the page that the link opens finds out whether that
 * person needs a password.
 */
export function composeInvitationMail(
	to: string,
	link: string,
	{
		kind,
		membership,
		isByOwner,
		inviter = null,
	}: {
		kind: PersonKind;
		membership: Membership | null;
		isByOwner: boolean;
		/** Email address of the colleague who invites, or null if the reader may not know who it is. */
		inviter?: string | null;
	},
): WrittenMail {
	const what = kind === "staff" ? "join the network's staff" : "manage a programme";
	const { subject, lines } =
		membership === null
			? { subject: `You're invited to ${what}`, lines: [`You are invited to ${what}.`] }
			: inviteTo(membership);
	const otherwise = isByOwner
		? "nothing changes unless you accept"
		: "nothing happens unless you open the link";
	return letter(to, subject, INVITATION_DAYS * DAY_MS, [
		...lines,
		...(inviter === null ? [] : [`The invitation comes from ${quote(inviter)}.`]),
		...openLink(isByOwner ? "to accept" : "to choose your password", link, `${INVITATION_DAYS} days`),
		`If you did not expect this mail, ignore it: ${otherwise}.`,
	]);
}

/** Composes the mail to a person who can already sign in and now has access to something new. */
export function composeAccessMail(to: string, membership: Membership, publicUrl: string): WrittenMail {
	const { subject, lines } = inviteTo(membership, true);
	return letter(to, subject, NEWS_MS, [
		...lines,
		`\nSign in as usual:\n${publicUrl}/sign-in\n`,
		"If you did not expect this mail, ask the network's staff.",
	]);
}

/**
 * Composes the mail to an accepted applicant who has an earlier invitation that is still valid. The link in
 * that invitation gives access to the partner, too.
 */
export function composeAcceptedMail(to: string, membership: Membership): WrittenMail {
	const { subject, lines } = inviteTo(membership);
	return letter(to, subject, NEWS_MS, [
		...lines,
		"\nYou have an invitation to this network that is still valid. Open the link in that mail to choose your password. If you cannot find it, ask the network's staff for a new one.\n",
		"If you did not apply, ignore this mail.",
	]);
}

/** Returns the subject and lines that describe the membership. A viewer is not invited to manage anything. */
function inviteTo(membership: Membership, isThere = false): { subject: string; lines: string[] } {
	if ("role" in membership) {
		const { programme, role } = membership;
		const name = quote(programme.name);
		if (isThere) {
			const added = `The programme ${name} has been added to your account.`;
			return { subject: `You now have access to ${name}`, lines: [added, sayRole(role)] };
		}
		const to = role === "owner" ? `manage ${name}` : `${name} as a ${role}`;
		return {
			subject: `You're invited to ${to}`,
			lines: [`You are invited to the programme ${name}.`, sayRole(role)],
		};
	}
	const name = quote(membership.partner.name);
	const programme = membership.accepted && quote(membership.accepted.name);
	const what = programme
		? `Your application to the programme ${programme} was accepted. Your partner account is ${name}.`
		: `You are invited as the partner ${name}.`;
	return {
		subject: programme
			? `Your application as a partner was accepted: ${programme}`
			: `You're invited as a partner: ${name}`,
		lines: [
			`${what} Sign in to create links, and to see your sales and earnings.`,
			...(membership.offers ?? []).flatMap(sayOffer),
		],
	};
}

function sayOffer({ programmeName, commissions, clickDays }: Offer): string[] {
	return [
		"",
		`Your commission in the programme ${quote(programmeName)}:`,
		...commissions.map((commission) => `- ${commission}`),
		`A click on your link counts for ${clickDays === 1 ? "1 day" : `${clickDays} days`}.`,
	];
}

function sayRole(role: ProgrammeRole): string {
	return `Your role: ${role}. This role ${ROLE_SUMMARIES[role]}.`;
}

export function composeResetMail(to: string, link: string): WrittenMail {
	return letter(to, "Choose a new password", HOUR_MS, [
		"A new password was requested for your account, probably by you.",
		...openLink("to choose one", link, "one hour"),
		"If it was not you, ignore this mail: your password stays as it is.",
	]);
}

/** Composes the mail to a new email address. Opening its link proves that the person reads that mailbox. */
export function composeAddressMail(to: string, before: string, link: string): WrittenMail {
	return letter(to, "Confirm your new email address", HOUR_MS, [
		`This address was entered as the new one of the account ${quote(before)}, probably by you.`,
		...openLink("to confirm", link, "one hour"),
		"If it was not you, ignore this mail: nothing changes.",
	]);
}

/** Composes the mail to the old email address of an account after the address was changed. */
export function composeLeftAddressMail(to: string, after: string): WrittenMail {
	return letter(to, "Your email address was changed", NEWS_MS, [
		`Your account now has the email address ${quote(after)}. Mails go there, and you sign in with it.`,
		"",
		"If it was you, there is nothing to do. If it was not, tell the network's staff at once: they can end all sessions and create a link for a new password.",
	]);
}

/** Composes a test mail. It shows staff whether mail works and what a mail looks like. */
export function composeTestMail(to: string): Mail {
	const text =
		"This is a test mail. If you can read it, mail works: invitations, password links and notices about failing callbacks arrive, too.";
	return { to, subject: "Test mail", text };
}

function letter(to: string, subject: string, goodForMs: number, lines: readonly string[]): WrittenMail {
	return { to, subject, text: lines.join("\n"), goodForMs };
}

function openLink(what: string, link: string, howLong: string): string[] {
	return ["", `Open this link ${what}. It works once, and for ${howLong}:`, link, ""];
}
