// Two sections of the account: who somebody is and how the pages write for them, and the address they sign in with.

import { html } from "hono/html";
import type { SettingsInput } from "../../accounts/own-settings.ts";
import type { Fault } from "../../domain/fault.ts";
import { DATE_LOCALES, MAIL_KINDS, type MailKind } from "../../domain/own-settings.ts";
import type { Person } from "../../store/people.ts";
import { padded, section } from "../components/blocks.ts";
import { button, checkbox, postForm, selectField, textField } from "../components/forms.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { placeFault } from "../form.ts";
import type { Content, Html } from "../html.ts";
import { ACCOUNT_PATH } from "../paths.ts";
import { currentPasswordField } from "./password-field.ts";

const BROWSERS_OWN = { value: "", label: "Same as my browser" };
const ZONES = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];

const MAIL_WORDS: Readonly<Record<MailKind, string>> = {
	callbacks_failing: "Callbacks of my programmes are failing",
	callbacks_working_again: "They have recovered",
};

export function settingsSection(
	c: WebContext,
	self: Person,
	fault: Fault | undefined,
	typed: Partial<SettingsInput> = {},
): Html {
	const { at, above } = placeFault(fault, ["name", "zone", "locale"]);
	const fields = html`<div class="form-grid">${textField({
		name: "name",
		label: "Your name",
		value: typed.name ?? self.name,
		autocomplete: "name",
		isRequired: true,
		error: at("name"),
	})}${selectField({
		name: "zone",
		label: "Time zone",
		value: typed.zone ?? self.zone ?? "",
		error: at("zone"),
		options: [BROWSERS_OWN, ...ZONES.map((zone) => ({ value: zone, label: zone.replaceAll("_", " ") }))],
	})}${selectField({
		name: "locale",
		label: "Language of dates",
		value: typed.locale ?? self.locale ?? "",
		error: at("locale"),
		options: [BROWSERS_OWN, ...Object.entries(DATE_LOCALES).map(([value, label]) => ({ value, label }))],
	})}</div>${mailBoxes(self, typed.mails)}<div>${button({ label: "Save settings", tone: "primary" })}</div>`;
	return section({
		id: "settings",
		title: "Your settings",
		body: padded(above, postForm({ action: `${ACCOUNT_PATH}/settings`, csrf: csrfField(c), body: fields })),
	});
}

/** Staff are mailed about no shop's callbacks. */
function mailBoxes(self: Person, typed: readonly MailKind[] | undefined): Content {
	if (self.kind === "staff") return null;
	const isOn = (kind: MailKind) => typed?.includes(kind) ?? self[`mails_${kind}`] === 1;
	return html`<fieldset class="stack-tight"><legend>Mail me when</legend>${MAIL_KINDS.map((kind) =>
		checkbox({ name: "mails", value: kind, label: MAIL_WORDS[kind], isChecked: isOn(kind) }),
	)}<p class="small soft">As an owner or developer of a programme. Mails about changes to your account, keys and people are always sent.</p></fieldset>`;
}

export function emailSection(
	c: WebContext,
	{ mails }: Pick<WebDeps, "mails">,
	self: Person,
	fault: Fault | undefined,
	typed = "",
): Html {
	const { at, above } = placeFault(fault, ["email", "currentPassword"]);
	const fields = html`<div class="form-grid">${textField({
		name: "email",
		label: "New email",
		type: "email",
		value: typed,
		autocomplete: "off",
		isRequired: true,
		error: at("email"),
	})}${currentPasswordField("email-current", at("currentPassword"))}</div>
		<p class="small soft">We send a link to the new address. Nothing changes until you open it. The old address is told.</p>
		<div>${button({ label: "Change email" })}</div>`;
	return section({
		id: "address",
		title: "Email",
		hint: html`You sign in with <strong class="break">${self.email}</strong>.`,
		body: padded(
			above,
			mails.isOn
				? postForm({ action: `${ACCOUNT_PATH}/email`, csrf: csrfField(c), body: fields })
				: html`<p class="soft">No mail can be sent from here, so a new address cannot be confirmed. Ask the network's staff.</p>`,
		),
	});
}
