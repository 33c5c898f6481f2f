// Composes the mails about changes. A mail says what was changed, when, by whom and from where, and what to do if the
// reader did not expect the change. Mails are plain text, so that every mail program on every phone can show them.

import { sayAction, sayDone } from "../domain/action.ts";
import { quote } from "../domain/mail-text.ts";
import { minuteIn } from "../domain/zone-day.ts";
import type { Mail } from "../ports.ts";
import type { Change } from "../store/queries/audit.ts";
import type { Addressee } from "../store/queries/programme-people.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { Partner } from "../store/tables/partners.ts";

/** The reader's time zone and email address. The address is null if the mail has several readers. */
interface Reader {
	zone: string;
	email: string | null;
}

/** Advice for readers who can no longer sign in or see the programme. */
const ASK_STAFF = "If you did not expect this, ask the network's staff.";

export function composeProgrammeChangeMail(
	{ zone }: Pick<Addressee, "zone">,
	programme: Pick<Programme, "name" | "public_id">,
	changes: readonly Change[],
	publicUrl: string,
): Omit<Mail, "to"> {
	const name = quote(programme.name);
	const page = `${publicUrl}/programmes/${programme.public_id}`;
	const isAboutPartners = changes.some(({ action }) => action.startsWith("partnership."));
	const unexpected = [
		"If you did not expect this:",
		"1. Sign in and check the keys and the signing secret. Revoke what you do not recognise:",
		`   ${page}/integration/keys`,
		"   And the Postback URL:",
		`   ${page}/integration`,
		...(isAboutPartners ? ["   And the partners:", `   ${page}/partners`] : []),
		"2. Check who has access, and remove everyone who should not:",
		`   ${page}/people`,
		"3. Choose a new password for your account, and end all other sessions:",
		`   ${publicUrl}/account`,
		"4. Tell the network's staff.",
	];
	const isToAnswer = changes.every(isApplication);
	const toAnswer = ["Read what they wrote, and accept or decline it:", `${page}/partners`];
	return {
		subject: `${isToAnswer && changes.length > 1 ? `${changes.length} partner applications` : headline(changes, "to the programme")}: ${name}`,
		text: [
			`In the programme ${name} (${programme.public_id}):`,
			"",
			...changes.map((change) => sayLine(change, sayDone(change), { zone, email: null })),
			"",
			...(isToAnswer ? toAnswer : unexpected),
		].join("\n"),
	};
}

export function composeAccountChangeMail(
	person: Addressee,
	changes: readonly Change[],
	publicUrl: string,
	isDeactivated: boolean,
): Omit<Mail, "to"> {
	const advice = [
		"If it was you, there is nothing to do. If it was not:",
		"1. Choose a new password at once. This ends every session of your account:",
		`   ${publicUrl}/forgot-password`,
		"2. Sign in, and check the authenticator and where you are signed in:",
		`   ${publicUrl}/account`,
		"3. Tell the network's staff.",
	];
	const title = headline(changes, "to your account");
	const isOne = changes.length === 1;
	const lines = changes.map((change) => sayLine(change, sayDone(change), readerOf(person)));
	return {
		subject: isOne ? `Your account: ${title.charAt(0).toLowerCase()}${title.slice(1)}` : title,
		text: [...lines, "", ...(isDeactivated ? [ASK_STAFF] : advice)].join("\n"),
	};
}

/**
 * Composes the mail to a person whose role was changed or removed. It contains no links, because the person
 * may no longer be allowed to open the pages.
 */
export function composeStandingMail(
	person: Addressee,
	changes: readonly Change[],
	programmes: ReadonlyMap<number, Pick<Programme, "name">>,
): Omit<Mail, "to"> {
	const said = changes.map((change) => {
		const name = programmes.get(change.programme_id ?? 0)?.name;
		const shop = name === undefined ? "" : quote(name);
		const isRole = change.action === "person.role_changed";
		return {
			title: `Your ${isRole ? "role was changed" : "access was ended"}${shop === "" ? "" : `: ${shop}`}`,
			line: sayStanding(change, shop),
			change,
		};
	});
	const [only, ...others] = said;
	const lines = said.map(({ line, change }) => sayLine(change, line, readerOf(person)));
	return {
		subject: only === undefined || others.length > 0 ? `${said.length} changes to your access` : only.title,
		text: [...lines, "", ASK_STAFF].join("\n"),
	};
}

export function composeNetworkChangeMail(
	person: Addressee,
	changes: readonly Change[],
	publicUrl: string,
): Omit<Mail, "to"> {
	const isAboutTokens = changes.some(({ action }) => action.startsWith("network_token."));
	const isAboutStaff = changes.some(({ action }) => action === "staff.joined");
	const steps = [
		...(isAboutTokens
			? [["Sign in and revoke every API token that you do not recognise:", `${publicUrl}/network/tokens`]]
			: []),
		...(isAboutStaff
			? [["Sign in and deactivate everyone who should not be there:", `${publicUrl}/people`]]
			: []),
		["Look at what was done meanwhile, in the audit log:", `${publicUrl}/system/audit`],
	];
	return {
		subject: headline(changes, "to who can administer the network"),
		text: [
			...changes.map((change) => sayLine(change, sayDone(change), readerOf(person))),
			"",
			"If you did not expect this:",
			...steps.flatMap(([what, where], at) => [`${at + 1}. ${what}`, `   ${where}`]),
		].join("\n"),
	};
}

/** Composes the mail to a person who signs in for a partner, about its other people and its API tokens. */
export function composePartnerChangeMail(
	person: Addressee,
	partner: Pick<Partner, "name" | "public_id">,
	changes: readonly Change[],
	publicUrl: string,
): Omit<Mail, "to"> {
	const name = quote(partner.name);
	const isAboutTokens = changes.some(({ action }) => action.startsWith("partner_token."));
	return {
		subject: `${headline(changes, "to the partner")}: ${name}`,
		text: [
			`For the partner ${name} (${partner.public_id}):`,
			"",
			...changes.map((change) => sayLine(change, sayDone(change), readerOf(person))),
			"",
			"If you did not expect this:",
			"1. Sign in and check who has access, and remove everyone who should not:",
			`   ${publicUrl}/partner/${partner.public_id}/people`,
			...(isAboutTokens
				? [
						"   And the API tokens. Revoke what you do not recognise:",
						`   ${publicUrl}/partner/${partner.public_id}/api`,
					]
				: []),
			"2. Tell the network's staff.",
		].join("\n"),
	};
}

/**
 * Returns the sentence about one change. `shop` is the quoted name of the programme, or empty if the change is about
 * no programme.
 */
function sayStanding(change: Change, shop: string): string {
	const { action, detail } = change;
	if (action === "staff.removed") return sayDone(change);
	if (action === "person.role_changed")
		return `Your role in the programme ${shop} was changed: ${detail ?? ""}`;
	const where = shop === "" ? `for the partner ${quote(detail ?? "")}` : `to the programme ${shop}`;
	return `Your access ${where} was ended`;
}

function headline(changes: readonly Change[], where: string): string {
	const [only, ...others] = changes;
	return only !== undefined && others.length === 0
		? sayAction(only.action)
		: `${changes.length} changes ${where}`;
}

function readerOf({ email, zone }: Addressee): Reader {
	return { zone, email };
}

function sayLine(change: Change, what: string, { zone, email }: Reader): string {
	const from = change.address === null ? "" : ` From the IP address ${change.address}.`;
	return `${minuteIn(change.at_ms, zone)}: ${what}. Done by ${sayActor(change, email)}.${from}`;
}

/**
 * Returns whether the change is a new application to become a partner. Applications have mails of their own.
 */
function isApplication({ action }: Change): boolean {
	return action === "application.made";
}

function sayActor(change: Change, readerEmail: string | null): string {
	const { actor, action } = change;
	if (isApplication(change)) return "the applicant, on the programme's public page";
	if (actor === null) return "the operator, at the service's command line";
	if (actor.email === readerEmail)
		return action === "password.reset" ? "the person who used the link" : "a person signed in as you";
	const staff = actor.kind === "staff" ? ", network staff" : "";
	const who = actor.name === "" ? `${actor.email}${staff}` : `${quote(actor.name)} (${actor.email}${staff})`;
	return change.token_id === null ? who : `a program with an API token of ${who}`;
}
