// Composes the mails that somebody requested: invitations, links for a new password or email address, and
// test mails. They are plain text, so that every mail program on every phone can show them. Text that
// strangers chose is quoted. network-mailer adds the lines that say who sends the mail.

import { quote } from "../domain/mail-text.ts";
import type { Conditions, Place, ProgrammePlace, SharedPlace } from "../domain/place.ts";
import { type ProgrammeRole, ROLE_SUMMARIES } from "../domain/roles.ts";
import { DAY_MS, HOUR_MS } from "../domain/time.ts";
import type { Mail } from "../ports.ts";
import type { WrittenMail } from "./dispatcher.ts";

/** Time after which a mail without a link is out of date and is given up. */
const NEWS_MS = 2 * DAY_MS;

/**
 * Number of days for which an invitation is valid. It covers a holiday weekend, and is short in case somebody
 * else reads the mailbox later.
 */
export const INVITATION_DAYS = 7;

/** Composes an invitation to a person who already has an account and only has to choose a password. */
export function composeInvitationMail(
	to: string,
	link: string,
	place: Place,
	/** Email address of the colleague who invites, or null if the reader of the mail must not learn who it is. */
	inviter: string | null,
): WrittenMail {
	return invitation(to, link, place, inviter, {
		linkPurpose: "to choose your password",
		otherwise: "nothing happens unless you open the link",
	});
}

/**
 * Composes an invitation that must be accepted. It is addressed to whoever reads the mailbox, and the page that its
 * link opens finds out whether that person needs a password.
 */
export function composeOfferMail(
	to: string,
	link: string,
	place: SharedPlace,
	inviter: string | null,
): WrittenMail {
	return invitation(to, link, place, inviter, {
		linkPurpose: "to accept",
		otherwise: "nothing changes unless you accept",
	});
}

function invitation(
	to: string,
	link: string,
	place: Place,
	inviter: string | null,
	{ linkPurpose, otherwise }: { linkPurpose: string; otherwise: string },
): WrittenMail {
	const { subject, lines } = sayInvited(place);
	return letter(to, subject, INVITATION_DAYS * DAY_MS, [
		...lines,
		...(inviter === null ? [] : [`The invitation comes from ${quote(inviter)}.`]),
		...openLink(linkPurpose, link, `${INVITATION_DAYS} days`),
		`If you did not expect this mail, ignore it: ${otherwise}.`,
	]);
}

/** Composes the mail to a person who can already sign in and now has access to something new. */
export function composeAccessMail(to: string, place: SharedPlace, publicUrl: string): WrittenMail {
	const { subject, lines } = place.kind === "programme" ? sayAdded(place) : sayInvited(place);
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
export function composeAcceptedMail(to: string, place: SharedPlace): WrittenMail {
	const { subject, lines } = sayInvited(place);
	return letter(to, subject, NEWS_MS, [
		...lines,
		"\nYou have an invitation to this network that is still valid. Open the link in that mail to choose your password. If you cannot find it, ask the network's staff for a new one.\n",
		"If you did not apply, ignore this mail.",
	]);
}

interface Opening {
	subject: string;
	lines: string[];
}

/** Returns the first sentence of an invitation. It does not ask a viewer to manage anything. */
function sayInvited(place: Place): Opening {
	switch (place.kind) {
		case "staff":
			return sayInvitedTo("join the network's staff");
		case "account":
			return sayInvitedTo("manage a programme");
		case "programme": {
			const name = quote(place.programme.name);
			const to = place.role === "owner" ? `manage ${name}` : `${name} as a ${place.role}`;
			return {
				subject: `You're invited to ${to}`,
				lines: [`You are invited to the programme ${name}.`, sayRole(place.role)],
			};
		}
		case "partner": {
			const name = quote(place.partner.name);
			const programme = place.accepted && quote(place.accepted.name);
			const what = programme
				? `Your application to the programme ${programme} was accepted. Your partner account is ${name}.`
				: `You are invited as the partner ${name}.`;
			return {
				subject: programme
					? `Your application as a partner was accepted: ${programme}`
					: `You're invited as a partner: ${name}`,
				lines: [
					`${what} Sign in to create links, and to see your sales and earnings.`,
					...(place.conditions ?? []).flatMap(sayConditions),
				],
			};
		}
		default:
			return place satisfies never;
	}
}

function sayInvitedTo(what: string): Opening {
	return { subject: `You're invited to ${what}`, lines: [`You are invited to ${what}.`] };
}

function sayAdded({ programme, role }: ProgrammePlace): Opening {
	const name = quote(programme.name);
	return {
		subject: `You now have access to ${name}`,
		lines: [`The programme ${name} has been added to your account.`, sayRole(role)],
	};
}

function sayConditions({ programmeName, commissions, clickDays }: Conditions): string[] {
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

/** Composes a test mail, which shows staff whether sending works and how mails look. */
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
