// Who did what in a programme, the newest first.

import { html } from "hono/html";
import type { AuditAction, AuditEntry } from "../../store/audit.ts";
import { emptyState, section } from "../components/blocks.ts";
import { dataTable, pager } from "../components/lists.ts";
import { timeTag } from "../components/text.ts";
import type { Html } from "../html.ts";

type Entry = AuditEntry & { email: string | null };

const ACTION_WORDS: Readonly<Record<AuditAction, string>> = {
	"person.invited": "Person invited",
	"person.joined": "Person joined",
	"person.role_changed": "Role changed",
	"person.signed_in": "Signed in",
	"person.signed_out": "Signed out",
	"person.removed": "Person removed",
	"account.changed": "Own settings changed",
	"address.asked": "New email address asked for",
	"address.changed": "Email address changed",
	"access.ended": "Access ended",
	"link.withdrawn": "Link withdrawn",
	"network.changed": "Network changed",
	"password.changed": "Password changed",
	"password.reset_asked": "Password link asked for",
	"password.link_made": "Password link made",
	"password.reset": "New password chosen",
	"sessions.revoked": "Sessions ended",
	"authenticator.turned_on": "Authenticator turned on",
	"authenticator.turned_off": "Authenticator turned off",
	"authenticator.backup_code_used": "Backup code used",
	"programme.created": "Programme created",
	"programme.changed": "Programme changed",
	"key.issued": "API key issued",
	"key.revoked": "API key revoked",
	"secret.prepared": "Signing secret prepared",
	"secret.activated": "Signing secret activated",
	"secret.discarded": "Prepared signing secret discarded",
	"secret.ended": "Old signing secret ended",
	"postback_url.saved": "Postback URL saved",
	"postback_url.removed": "Postback URL removed",
	"conversion.decided": "Conversion decided",
	"conversions.decided": "Conversions decided",
	"decisions.prepared": "Decisions prepared",
	"decisions.discarded": "Decisions discarded",
	"conversion.test_sent": "Test conversion sent",
	"delivery.resent": "Callback sent again",
	"deliveries.resent": "Callbacks sent again",
	"delivery.sent_now": "Waiting callback sent now",
	"deliveries.sent_now": "Waiting callbacks sent now",
};

export const AUDIT_ACTIONS = Object.keys(ACTION_WORDS) as AuditAction[];

export function auditSection(entries: readonly Entry[], pages: Parameters<typeof pager>[0]): Html {
	return section({
		id: "audit",
		title: "Who did what",
		hint: "The newest first. Only staff see it.",
		body: html`${dataTable<Entry>({
			caption: "What was done, the newest first",
			rows: entries,
			stacks: true,
			empty: emptyState({
				title: "Nothing yet",
				text: "Changes, keys, decisions and invitations show up here.",
			}),
			columns: [
				{ title: "When", cell: ({ at_ms }) => timeTag(at_ms) },
				{
					title: "Who",
					cell: ({ email }) => email ?? html`<span class="faint">command line or service</span>`,
				},
				{ title: "What", namesRow: true, cell: ({ action }) => sayAction(action) },
				{
					title: "Details",
					cell: ({ subject, detail }) =>
						html`<span class="break">${[subject, detail].filter((part) => part !== null).join(" · ")}</span>`,
				},
			],
		})}${pager(pages)}`,
	});
}

/** Entries of later versions read as well: "postback_url.saved" as "Postback url saved". */
export function sayAction(action: string): string {
	if (Object.hasOwn(ACTION_WORDS, action)) return ACTION_WORDS[action as AuditAction];
	const words = action.replace(/[._]/g, " ");
	return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
