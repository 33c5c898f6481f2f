// Commands that create things: `ringback user create` and `ringback user link` (a person, and the one-time
// link with which they choose their password), `ringback programme create` and `ringback key issue`.

import { succeed } from "#core/domain/fault.ts";
import { KEY_RIGHT_WORDS } from "#core/domain/roles.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { makeOperatorLink, renewLink, type SentLink, sayOpensOnlyHere } from "#core/people/invitations.ts";
import { createPerson, requirePersonByEmail } from "#core/people/people.ts";
import { issueKey } from "#core/programmes/keys.ts";
import { openProgramme } from "#core/programmes/open-programme.ts";
import type { Person } from "#core/store/queries/people.ts";
import type { Workplace } from "../service/workplace.ts";
import { OWN_COMMAND } from "../shipped-files.ts";
import { type Answer, workplaceCommand } from "./command.ts";

const EMAIL_OPTION = {
	type: "string",
	value: "ADDRESS",
	help: "the person's e-mail address",
	isRequired: true,
} as const;

export const userCreateCommand = workplaceCommand({
	name: "user create",
	summary:
		"Creates a person of a shop or of the network's staff. Prints the link with which they choose their password.",
	options: {
		email: EMAIL_OPTION,
		kind: { type: "string", value: "shop|staff", help: "where the person belongs", isRequired: true },
	},
	async work(workplace, options) {
		const created = await createPerson(workplace, {
			email: options.text("email"),
			kind: options.text("kind"),
		});
		if (!created.ok) return created;
		const { kind, email, public_id } = created.value;
		const place = { kind: kind === "staff" ? "staff" : "account" } as const;
		const createdLine = `Made ${kind === "staff" ? "staff" : "shop person"} ${email} (${public_id}).`;
		const renewed = await renewLink(workplace, COMMAND_LINE, created.value.id, place);
		if (!renewed.ok) return renewed;
		const about = `The link to choose a password, good once and for seven days.${renewed.value.isMailed ? " It is being mailed, too." : ""}`;
		const next = mustUseProvider(workplace, created.value)
			? ["After that, they sign in with the company's account."]
			: [];
		return succeed(answerLink(created.value, renewed.value, [createdLine, [about, ...next].join(" ")]));
	},
});

export const userLinkCommand = workplaceCommand({
	name: "user link",
	summary:
		"Prints a new link with which a person chooses a password, for people who forgot theirs. The link is not mailed. It replaces the person's earlier links from this command. Using it ends their sessions and every other link.",
	options: {
		email: EMAIL_OPTION,
		"bypass-company-sign-in": {
			type: "boolean",
			help: "let a member of staff in without the company's account, if RINGBACK_OIDC_STAFF requires it and the provider cannot be used",
		},
	},
	async work(workplace, options) {
		const found = await requirePersonByEmail(workplace, options.text("email"));
		if (!found.ok) return found;
		const person = found.value;
		const bypassesCompanySignIn = options.flag("bypass-company-sign-in");
		const sent = await makeOperatorLink(workplace, person.id, { bypassesCompanySignIn });
		if (!sent.ok) return sent;
		const { isForPassword, isMailed } = sent.value;
		const about = [
			`The link to choose a ${isForPassword ? "new password" : "password"}, good once and for 24 hours. It is not mailed, so hand it over yourself.`,
			...(isForPassword && isMailed ? ["A mail tells them that it was created."] : []),
			...(mustUseProvider(workplace, person) ? ["It lets them in once without the company's account."] : []),
		];
		return succeed(answerLink(person, { ...sent.value, isMailed: false }, [about.join(" ")]));
	},
});

function mustUseProvider({ companySignIn }: Workplace, { kind }: Person): boolean {
	return kind === "staff" && companySignIn?.isRequiredForStaff === true;
}

/**
 * Returns the answer of a command that made a sign-in link. The JSON field `isMailed` says whether the link is
 * mailed.
 */
function answerLink(
	{ public_id: id, email, kind }: Person,
	{ link, isMailed }: Pick<SentLink, "link" | "isMailed">,
	lines: readonly string[],
): Answer {
	return {
		json: { id, email, kind, link, isMailed },
		text: [...lines, link ?? "", sayOpensOnlyHere(link ?? "") ?? ""].join("\n").trimEnd(),
	};
}

export const programmeCreateCommand = workplaceCommand({
	name: "programme create",
	summary: "Creates a shop's programme with its currency, its rates and its approval window.",
	options: {
		name: { type: "string", value: "NAME", help: "the programme's name", isRequired: true },
		owner: {
			type: "string",
			value: "ADDRESS",
			help: "e-mail of its owner, made with `user create --kind shop`",
			isRequired: true,
		},
		currency: { type: "string", value: "CODE", help: "ISO 4217 code such as EUR", isRequired: true },
		commission: {
			type: "string",
			value: "PERCENT",
			help: "commission, percent of the basket",
			isRequired: true,
		},
		"commission-fixed": {
			type: "string",
			value: "AMOUNT",
			help: "fixed commission for each conversion, in the programme's currency",
		},
		fee: { type: "string", value: "PERCENT", help: "network fee, percent of the basket", isRequired: true },
		"fee-fixed": {
			type: "string",
			value: "AMOUNT",
			help: "fixed network fee for each conversion",
		},
		"event-rates": {
			type: "string",
			value: "RATES",
			help: "other rates for event types, such as “LEAD: 5.00 EUR, fee 1.00 EUR; RENEWAL: 4 %, fee 0”",
		},
		"approval-days": {
			type: "string",
			value: "DAYS",
			help: "days until a conversion is approved automatically",
			isRequired: true,
		},
		"no-parking": {
			type: "boolean",
			help: "record pixel conversions at once, without the shop's confirmation; anyone can call the pixel",
		},
	},
	async work(workplace, options) {
		const days = options.text("approval-days");
		const opened = await openProgramme(
			workplace,
			{ kind: "known" },
			{
				name: options.text("name"),
				ownerEmail: options.text("owner"),
				currency: options.text("currency"),
				commissionRate: options.text("commission"),
				commissionFixed: options.text("commission-fixed"),
				feeRate: options.text("fee"),
				feeFixed: options.text("fee-fixed"),
				eventRates: options.text("event-rates"),
				approvalDays: /^\d+$/.test(days) ? Number(days) : Number.NaN,
				parksPixels: !options.flag("no-parking"),
			},
		);
		if (!opened.ok) return opened;
		const { public_id: id, name } = opened.value.programme;
		const text = `Made programme ${name}: ${id}\nNext: ${OWN_COMMAND} key issue --programme ${id}`;
		return succeed({ json: { id, name }, text });
	},
});

export const keyIssueCommand = workplaceCommand({
	name: "key issue",
	summary:
		"Issues an API key. The programme's first key comes with its signing secret. Both are shown only once.",
	options: {
		programme: { type: "string", value: "ID", help: "the programme's ID, prg_…", isRequired: true },
		name: { type: "string", value: "TEXT", help: "what people call it, such as “Shop server”" },
		right: {
			type: "string",
			value: "decide|report",
			help: "`report` takes sales, refunds and reversals only; `decide`, if not given, approvals and rejections too",
		},
	},
	async work(workplace, options) {
		const asked = { name: options.text("name"), right: options.text("right") };
		const issued = await issueKey(workplace, options.text("programme"), COMMAND_LINE, asked);
		if (!issued.ok) return issued;
		const { keyId, name, key, right, secret } = issued.value;
		const text = [
			`API key         ${key}   (${name}, ${keyId}; ${KEY_RIGHT_WORDS[right]})`,
			`Signing secret  ${secret ?? "as before: it came with the first key"}`,
			"They are not shown again: keep them where your shop keeps its passwords.",
		].join("\n");
		return succeed({ json: { id: keyId, name, key, right, secret }, text });
	},
});
