// The words of the mails that tell people what was changed: what, when, who, from where, and what to do if it was not
// them. Plain text: it must be readable in any client, on any phone.

import { readKeyLabel } from "../domain/key-label.ts";
import { quote } from "../domain/mail-text.ts";
import { readProgrammeRole } from "../domain/roles.ts";
import { isTold, type ToldAction } from "../domain/told-changes.ts";
import { minuteIn } from "../domain/zone-day.ts";
import type { Mail } from "../ports.ts";
import type { Change } from "../store/changes-to-tell.ts";
import type { Addressee } from "../store/programme-people.ts";
import type { Programme } from "../store/programmes.ts";

/** For whom it is written: in whose zone, and whose account it is, if it is about one. */
interface Reader {
	zone: string | null;
	own: string | null;
}

/** More would not be read; the programme's pages show everything. */
const MAX_LISTED = 20;

/** What happened, as a sentence whose end says who did it. */
const SENTENCES: Readonly<Record<ToldAction, (change: Change) => string>> = {
	"password.changed": () => "The password of your account was changed",
	"password.reset": () => "A new password for your account was chosen with a link",
	"password.link_made": () =>
		"A link to choose a new password for your account was created; your password stays as it is until the link is used",
	"address.asked": ({ detail }) =>
		`A change of your account's email address to ${quote(detail ?? "")} was requested. It takes effect once the link in a mail to that address is opened`,
	"address.changed": ({ detail }) => `The email address of your account was changed: ${detail ?? ""}`,
	"authenticator.turned_on": () => "The authenticator of your account was turned on",
	"authenticator.turned_off": () => "The authenticator of your account was turned off",
	"authenticator.backup_code_used": () => "A backup code was used to sign in to your account",
	"key.issued": ({ detail }) => `A new API key${sayKey(detail)} was issued`,
	"key.revoked": ({ detail }) => `The API key${sayKey(detail)} was revoked`,
	"secret.prepared": ({ subject }) => `A new signing secret${named(subject)} was prepared`,
	"secret.activated": ({ subject }) =>
		`The new signing secret${named(subject)} was activated: callbacks are signed with it`,
	"secret.discarded": ({ subject }) => `The prepared signing secret${named(subject)} was discarded`,
	"secret.ended": ({ subject }) => `The old signing secret${named(subject)} was ended`,
	"postback_url.saved": ({ subject }) => `The Postback URL ${quote(subject ?? "")} was saved`,
	"postback_url.removed": () => "The Postback URL was removed: status changes are no longer sent",
	"person.invited": ({ subject, detail }) =>
		`${subject ?? "Somebody"} was invited to the programme${asRole(detail)}`,
	"person.imported": ({ subject, detail }) =>
		`${subject ?? "Somebody"} was added to the programme${asRole(detail)}`,
	"person.joined": ({ subject, detail }) => `${subject ?? "Somebody"} joined the programme${asRole(detail)}`,
	"person.role_changed": ({ subject, detail }) =>
		`The role of ${subject ?? "somebody"} was changed (${detail ?? ""})`,
	"person.removed": ({ subject, detail }) =>
		detail === "invitation"
			? `The invitation of ${subject ?? "somebody"} was withdrawn`
			: `The access of ${subject ?? "somebody"} was ended`,
};

/** For those who cannot sign in, or see the programme, any more. */
const ASK_STAFF = "If you did not expect this, ask the network's staff.";

const SUBJECTS: Readonly<Record<ToldAction, string>> = {
	"password.changed": "Your password was changed",
	"password.reset": "Your password was changed",
	"password.link_made": "A link for a new password was created",
	"address.asked": "A new email address was requested",
	"address.changed": "Your email address was changed",
	"authenticator.turned_on": "Your authenticator was turned on",
	"authenticator.turned_off": "Your authenticator was turned off",
	"authenticator.backup_code_used": "A backup code was used",
	"key.issued": "New API key",
	"key.revoked": "API key revoked",
	"secret.prepared": "New signing secret prepared",
	"secret.activated": "New signing secret activated",
	"secret.discarded": "Prepared signing secret discarded",
	"secret.ended": "Old signing secret ended",
	"postback_url.saved": "Postback URL saved",
	"postback_url.removed": "Postback URL removed",
	"person.invited": "Person invited",
	"person.imported": "Person added",
	"person.joined": "Person joined",
	"person.role_changed": "Role changed",
	"person.removed": "Access ended",
};

export function composeProgrammeChangeMail(
	{ zone }: Pick<Addressee, "zone">,
	programme: Pick<Programme, "name" | "public_id">,
	changes: readonly Change[],
	publicUrl: string,
): Omit<Mail, "to"> {
	const name = quote(programme.name);
	const page = `${publicUrl}/programmes/${programme.public_id}`;
	return {
		subject: `${headline(changes, "changes to the programme")}: ${name}`,
		text: [
			`In the programme ${name} (${programme.public_id}):`,
			"",
			...listChanges(changes, { zone, own: null }),
			"",
			"If you did not expect this:",
			"1. Sign in and check the keys and the signing secret. Revoke what you do not recognise:",
			`   ${page}/integration/keys`,
			"   And the Postback URL:",
			`   ${page}/integration`,
			"2. Check who has access, and remove whoever should not:",
			`   ${page}/people`,
			"3. Choose a new password for your account, and end all other sessions:",
			`   ${publicUrl}/account`,
			"4. Tell the network's staff.",
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
	return {
		subject: headline(changes, "changes to your account"),
		text: [...listChanges(changes, readerOf(person)), "", ...(isDeactivated ? [ASK_STAFF] : advice)].join(
			"\n",
		),
	};
}

/** To whoever has another role now. */
export function composeRoleMail(
	person: Addressee,
	changes: readonly Change[],
	programmes: ReadonlyMap<number, Pick<Programme, "name">>,
): Omit<Mail, "to"> {
	const lines = changes.map((change) => {
		const name = quote(programmes.get(change.programme_id ?? 0)?.name ?? "");
		return sayLine(
			change,
			`Your role in the programme ${name} was changed: ${change.detail ?? ""}`,
			readerOf(person),
		);
	});
	return { subject: "Your role was changed", text: [...lines, "", ASK_STAFF].join("\n") };
}

/** To whoever was removed from programmes, or from the staff. No links: those pages are closed to them. */
export function composeRemovalMail(
	person: Addressee,
	removals: readonly Change[],
	programmes: ReadonlyMap<number, Pick<Programme, "name">>,
): Omit<Mail, "to"> {
	const names = removals.map(({ programme_id }) =>
		programme_id === null ? undefined : programmes.get(programme_id)?.name,
	);
	const [name, ...others] = names;
	const lines = removals.map((removal, index) => {
		const lost = names[index];
		const what =
			lost === undefined
				? "Your access as one of the network's staff was ended"
				: `Your access to the programme ${quote(lost)} was ended`;
		return sayLine(removal, what, readerOf(person));
	});
	return {
		subject: `Your access was ended${name === undefined || others.length > 0 ? "" : `: ${quote(name)}`}`,
		text: [...lines, "", ASK_STAFF].join("\n"),
	};
}

function headline(changes: readonly Change[], many: string): string {
	const [only, ...others] = changes;
	if (only !== undefined && others.length === 0 && isTold(only.action)) return SUBJECTS[only.action];
	return `${changes.length} ${many}`;
}

function readerOf({ email, zone }: Addressee): Reader {
	return { zone, own: email };
}

function listChanges(changes: readonly Change[], reader: Reader): string[] {
	if (changes.length <= MAX_LISTED) return changes.map((change) => sayChange(change, reader));
	const harmlessLast = changes.toSorted((one, other) => Number(isHarmless(one)) - Number(isHarmless(other)));
	const listed = new Set(harmlessLast.slice(0, MAX_LISTED));
	const lines = changes.filter((change) => listed.has(change)).map((change) => sayChange(change, reader));
	return [...lines, `… and ${changes.length - MAX_LISTED} more. In all: ${countKinds(changes)}.`];
}

/** Gives nobody access. Left out of the list first, so that many of these cannot push an important change out of it. */
function isHarmless({ action }: Change): boolean {
	return action === "secret.prepared" || action === "secret.discarded" || action === "key.revoked";
}

function countKinds(changes: readonly Change[]): string {
	const byKind = Object.groupBy(changes, ({ action }) => (isTold(action) ? SUBJECTS[action] : action));
	return Object.entries(byKind)
		.map(([kind, ofKind = []]) => `${kind} (${ofKind.length})`)
		.join(", ");
}

function sayChange(change: Change, reader: Reader): string {
	const what = isTold(change.action) ? SENTENCES[change.action](change) : change.action;
	return sayLine(change, what, reader);
}

function sayLine(change: Change, what: string, { zone, own }: Reader): string {
	const from = change.address === null ? "" : ` From the IP address ${change.address}.`;
	return `${minuteIn(change.at_ms, zone)}: ${what}. Done by ${sayActor(change, own)}.${from}`;
}

function sayActor({ actor, action }: Change, own: string | null): string {
	if (actor === null) return "somebody at the service's command line";
	if (actor.email === own)
		return action === "password.reset" ? "whoever used the link" : "whoever is signed in as you";
	const staff = actor.kind === "staff" ? ", network staff" : "";
	return actor.name === "" ? `${actor.email}${staff}` : `${quote(actor.name)} (${actor.email}${staff})`;
}

/** Older entries say what kind of person it was. */
function asRole(detail: string | null): string {
	const role = readProgrammeRole(detail ?? "");
	return role === undefined ? "" : ` as ${role}`;
}

/** Its name is what somebody of the shop chose. */
function sayKey(detail: string | null): string {
	if (detail === null) return "";
	const { shown, name } = readKeyLabel(detail);
	return name === "" ? ` ${shown}` : ` ${shown} (${quote(name)})`;
}

function named(hint: string | null): string {
	return hint === null ? "" : ` ${hint}`;
}
