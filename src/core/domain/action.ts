// The actions that the audit log records. One table gives for each action its title on pages and in mail
// subjects, the people who are mailed about it, and the sentence in that mail. The person who acted is mailed
// too, because somebody else may have stolen their session.

import { type TokenLabel, writeTokenLabel } from "./api-token.ts";
import { quote } from "./mail-text.ts";
import { readProgrammeRole } from "./roles.ts";
import { MINUTE_MS } from "./time.ts";

/**
 * The recipients of a mail about an action: the person whose account was changed, the owners of the
 * programme, the people who sign in for the partner, or the network's staff.
 */
type Audience = "person" | "owners" | "colleagues" | "staff";

interface Done {
	action: string;
	/** Public id or email address of the object or person that was changed. */
	subject: string | null;
	detail: string | null;
}

/**
 * Description of an action. If nobody is mailed about it, this is only the title. Otherwise it also has the
 * recipients and the sentence of the mail. `FILLINGS` has the texts for the placeholders in braces in that
 * sentence.
 */
type ActionKind = string | readonly [title: string, tells: Audience, says: string];

/**
 * All actions by name. Names have the form `area.what-happened`. An action may be added but never renamed,
 * because stored audit entries contain its name.
 */
const ACTIONS = {
	"person.signed_in": "Signed in",
	"person.signed_out": "Signed out",
	"account.changed": "Own settings changed",
	"sessions.revoked": "Sessions ended",
	"password.reset_asked": "Password link requested",
	"password.link_made": [
		"Password link created",
		"person",
		"A link to choose a new password for your account was created; your password stays as it is until the link is used",
	],
	"password.changed": [
		"Password changed",
		"person",
		"The password of your account was changed{ended tokens}",
	],
	"password.reset": [
		"New password chosen",
		"person",
		"A new password for your account was chosen with a link{ended tokens}",
	],
	"address.asked": [
		"New email address requested",
		"person",
		"A change of your account's email address to {quoted detail} was requested. It takes effect once the link in a mail to that address is opened",
	],
	"address.changed": [
		"Email address changed",
		"person",
		"The email address of your account was changed: {detail}",
	],
	"authenticator.turned_on": [
		"Authenticator turned on",
		"person",
		"The authenticator of your account was turned on",
	],
	"authenticator.turned_off": [
		"Authenticator turned off",
		"person",
		"The authenticator of your account was turned off",
	],
	"authenticator.backup_code_used": ["Backup code used", "person", "A backup code of your account was used"],
	"access.ended": "Access ended",
	"link.withdrawn": "Link withdrawn",
	"network.changed": "Network changed",
	"programme.created": "Programme created",
	"programme.changed": "Programme changed",
	"programme.archived": [
		"Programme archived",
		"owners",
		"The network archived the programme: it takes no new sales",
	],
	"programme.resumed": [
		"Programme resumed",
		"owners",
		"The network resumed the programme: it takes sales again",
	],
	"person.invited": ["Person invited", "owners", "{who} was invited to the programme{as role}"],
	"person.imported": ["Person imported", "owners", "{who} was added to the programme{as role}"],
	"person.joined": ["Person joined", "owners", "{who} joined the programme{as role}"],
	"person.role_changed": ["Role changed", "owners", "The role of {subject} was changed ({detail})"],
	"person.exported": "Data of a person exported",
	"person.erased": "Person erased",
	"person.removed": ["Person removed", "owners", "The access of {subject} was ended"],
	"invitation.withdrawn": ["Invitation withdrawn", "owners", "The invitation of {subject} was withdrawn"],
	"staff.joined": ["Member of staff joined", "staff", "{subject} joined the network's staff{invited by}"],
	"staff.removed": [
		"Member of staff removed",
		"person",
		"Your access as one of the network's staff was ended",
	],
	"key.issued": ["API key issued", "owners", "A new API key{key} was issued"],
	"key.renamed": "API key renamed",
	"key.lowered": ["API key lowered", "owners", "The API key{key} no longer approves or rejects"],
	"key.revoked": ["API key revoked", "owners", "The API key{key} was revoked"],
	"network_token.issued": [
		"Network API token issued",
		"staff",
		"A new API token of the network{key} was issued",
	],
	"network_token.revoked": [
		"Network API token revoked",
		"staff",
		"The API token of the network{key} was revoked",
	],
	"partner_token.issued": ["Partner API token issued", "colleagues", "A new API token{key} was issued"],
	"partner_token.revoked": ["Partner API token revoked", "colleagues", "The API token{key} was revoked"],
	"secret.prepared": ["New signing secret prepared", "owners", "A new signing secret{secret} was prepared"],
	"secret.activated": [
		"New signing secret activated",
		"owners",
		"The new signing secret{secret} was activated: callbacks are signed with it",
	],
	"secret.discarded": [
		"Prepared signing secret discarded",
		"owners",
		"The prepared signing secret{secret} was discarded",
	],
	"secret.ended": ["Old signing secret ended", "owners", "The old signing secret{secret} was ended"],
	"postback_url.saved": ["Postback URL saved", "owners", "The Postback URL {quoted subject} was saved"],
	"postback_url.removed": [
		"Postback URL removed",
		"owners",
		"The Postback URL was removed: status changes are no longer sent",
	],
	"partner.invited": "Partner invited",
	"partner.imported": "Partner imported",
	"partner.changed": "Partner changed",
	"partner.archived": "Partner archived",
	"partner.resumed": "Partner resumed",
	"partner.exported": "Data of a partner exported",
	"partner.erased": "Partner erased",
	"partner.url_saved": ["Callback URL saved", "colleagues", "The callback URL {quoted detail} was saved"],
	"partner.url_removed": [
		"Callback URL removed",
		"colleagues",
		"The callback URL was removed: status changes are no longer sent",
	],
	"partner.secret_prepared": [
		"New signing secret of a partner prepared",
		"colleagues",
		"A new signing secret {detail} was prepared",
	],
	"partner.secret_activated": [
		"New signing secret of a partner activated",
		"colleagues",
		"The new signing secret {detail} was activated: callbacks are signed with it",
	],
	"partner.secret_discarded": [
		"Prepared signing secret of a partner discarded",
		"colleagues",
		"The prepared signing secret {detail} was discarded",
	],
	"partner.secret_ended": [
		"Old signing secret of a partner ended",
		"colleagues",
		"The old signing secret {detail} was ended",
	],
	"partner.test_sent": "Test callback sent",
	"partner.person_joined": ["Person joined a partner", "colleagues", "{detail} joined the partner"],
	"partnership.started": [
		"Partnership started",
		"owners",
		"{quoted detail} became a partner of the programme",
	],
	"partnership.imported": [
		"Partnership imported",
		"owners",
		"{quoted detail} became a partner of the programme",
	],
	"partnership.changed": "Partnership changed",
	"partnership.ended": ["Partnership ended", "owners", "The partnership with {quoted detail} was ended"],
	"partnership.clicks_ended": "Clicks of a partnership ended",
	"application.made": ["Partner application", "owners", "{quoted detail} applied as a partner"],
	"application.declined": "Application declined",
	"landing_host.confirmed": [
		"Shop address confirmed",
		"owners",
		"The network confirmed the shop address {quoted subject}: partners' links may lead to it",
	],
	"landing_host.declined": [
		"Shop address declined",
		"owners",
		"The network declined the shop address {quoted subject}: no partner's link leads to it",
	],
	"link.made": "Partner link created",
	"credit.assigned": "Partner of a conversion changed",
	"import.prepared": "File uploaded for import",
	"import.started": "Import started",
	"import.stopped": "Import stopped",
	"import.discarded": "Import discarded",
	"import.finished": "Import finished",
	"statements.prepared": "Statements prepared",
	"statements.started": "Issue of statements started",
	"statements.stopped": "Issue of statements stopped",
	"statements.discarded": "Prepared statements discarded",
	"statements.finished": "Issue of statements finished",
	"payments.prepared": "File of payments uploaded",
	"payments.started": "Payments of a file started",
	"payments.stopped": "Payments of a file stopped",
	"payments.discarded": "File of payments discarded",
	"payments.finished": "Payments of a file finished",
	"statement.issued": "Statement issued",
	"statement.paid": "Statement marked as paid",
	"payments.compared": "Payments compared with the bank after a restore",
	"payment.undone": "Payment of a statement undone",
	"account.adjusted": "Partner's account adjusted",
	"payment_details.changed": "Payment details changed",
	"conversion.decided": "Conversion decided",
	"conversion.refunded": "Part of a conversion refunded",
	"decisions.prepared": "Decisions prepared",
	"decisions.started": "Decisions started",
	"decisions.stopped": "Decisions stopped",
	"decisions.discarded": "Decisions discarded",
	"decisions.finished": "Decisions applied",
	"conversion.test_sent": "Test conversion sent",
	"delivery.resent": "Callback sent again",
	"deliveries.resent": "Callbacks sent again",
	"deliveries.set_aside": "Failed callbacks set aside",
	"delivery.sent_now": "Waiting callback sent now",
	"deliveries.sent_now": "Waiting callbacks sent now",
	"callbacks.held": "All callbacks held",
	"callbacks.released": "All callbacks released",
	"sealing_key.replaced": "Sealing key replaced",
	"sealing_key.clicks_ended": "Click IDs of former sealing keys ended",
} as const satisfies Readonly<Record<string, ActionKind>>;

/**
 * Actions that earlier versions recorded and this version no longer records. Their entries are still shown and found.
 */
const FORMER_ACTIONS = {
	"partner.listening": "Listening without a callback URL chosen",
} as const satisfies Readonly<Record<string, ActionKind>>;

const KNOWN_ACTIONS = { ...ACTIONS, ...FORMER_ACTIONS };

export type AuditAction = keyof typeof ACTIONS;
export type StoredAction = keyof typeof KNOWN_ACTIONS;
export const STORED_ACTIONS = Object.keys(KNOWN_ACTIONS) as StoredAction[];

/**
 * Texts for the placeholders in the sentences of mails. Text that a person chose freely is put in quotation
 * marks.
 */
const FILLINGS: Readonly<Record<string, (done: Done) => string>> = {
	who: ({ subject }) => subject ?? "A person",
	subject: ({ subject }) => subject ?? "a person",
	detail: ({ detail }) => detail ?? "",
	"quoted subject": ({ subject }) => quote(subject ?? ""),
	"quoted detail": ({ detail }) => quote(detail ?? ""),
	"invited by": ({ detail }) => (detail === null ? "" : `, invited by ${detail}`),
	secret: ({ subject }) => (subject === null ? "" : ` ${subject}`),
	key: ({ detail }) => sayKey(detail),
	// Older entries have the detail "by link" instead of the names of tokens.
	"ended tokens": ({ detail }) => (detail?.startsWith(ENDED_TOKENS) === true ? `. ${detail}` : ""),
	// Some entries have no detail, or "staff" instead of a role.
	"as role": ({ detail }) => (readProgrammeRole(detail ?? "") === undefined ? "" : ` as ${detail}`),
};

const ENDED_TOKENS = "API tokens that you had issued were ended: ";

/**
 * Returns the detail of the entry about a new password, which names the API tokens that ended with the old one. Returns
 * null if there were none.
 */
export function writeEndedTokens(tokens: readonly TokenLabel[]): string | null {
	if (tokens.length === 0) return null;
	return `${ENDED_TOKENS}${tokens.map((token) => sayKey(writeTokenLabel(token)).trim()).join(", ")}`;
}

/**
 * Returns the title of an action. If this version does not know the action, the title is made from its name,
 * such as "Postback url saved".
 */
export function sayAction(action: string): string {
	const [title] = readKind(action);
	if (title !== undefined) return title;
	const words = action.replace(/[._]/g, " ");
	return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

export function audienceOf(action: string): Audience | undefined {
	return readKind(action)[1];
}

export function sayDone(done: Done): string {
	const says = readKind(done.action)[2] ?? sayAction(done.action);
	return says.replace(/\{(.+?)\}/g, (_gap, name: string) => FILLINGS[name]?.(done) ?? "");
}

function readKind(action: string): readonly [title?: string, tells?: Audience, says?: string] {
	const kind: ActionKind | undefined = Object.hasOwn(KNOWN_ACTIONS, action)
		? KNOWN_ACTIONS[action as StoredAction]
		: undefined;
	return kind === undefined ? [] : typeof kind === "string" ? [kind] : kind;
}

/**
 * Minimum time between two mails to the same person, or to the owners of the same programme. The first change
 * is mailed at once, and all changes within this time go into the next mail. The time is short for mails to a
 * person, because a thief may be changing their account.
 */
export const TELL_INTERVALS_MS: Readonly<Record<"person" | "owners", number>> = {
	person: MINUTE_MS,
	owners: 15 * MINUTE_MS,
};

function sayKey(detail: string | null): string {
	if (detail === null) return "";
	const { shown, name } = readKeyLabel(detail);
	return name === "" ? ` ${shown}` : ` ${shown} (${quote(name)})`;
}

// The label of an API key in the audit log and in mails consists of the key's last characters and its name.

interface KeyLabel {
	/** Text such as "rbk_…1a2b". */
	shown: string;
	name: string;
}

export function showKey(hint: string): string {
	return `rbk_…${hint}`;
}

/**
 * Returns text such as "rbk_…1a2b Shop server". Both parts are joined, because an audit entry has only one
 * field for them.
 */
export function writeKeyLabel({ hint, name }: { hint: string; name: string }): string {
	return `${showKey(hint)} ${name}`;
}

function readKeyLabel(text: string): KeyLabel {
	const [shown = ""] = text.split(" ", 1);
	return { shown, name: text.slice(shown.length + 1) };
}
