import { savePayoutSettings } from "#modules/accounts/use-cases/payout-settings.ts";
import { PAYOUTS_FORM, payoutsSection, readPayoutsForm } from "#modules/accounts/web/payouts-section.ts";
import { addSamplePartner } from "#modules/partners/use-cases/sample.ts";
import { isBrand } from "../../domain/network.ts";
import { headerNames } from "../../domain/signature.ts";
import { TIME_ZONES } from "../../domain/zone-day.ts";
import { LOGO_TYPE } from "../../programmes/logo.ts";
import {
	changeNetwork,
	endSetUp,
	type NetworkField,
	removeLogo,
	saveLogo,
	sendTestMail,
} from "../../programmes/network.ts";
import { openSampleProgramme } from "../../programmes/open-programme.ts";
import type { NetworkFace } from "../../store/network-cache.ts";
import { findFirstProgramme } from "../../store/queries/programmes.ts";
import { logoImage } from "../document.ts";
import { declareForm, HIDDEN } from "../form.ts";
import { showCallbacks } from "../integration/callbacks-page.ts";
import {
	actorOf,
	answerPage,
	leadTo,
	tellRefusal,
	viewerOf,
	type WebContext,
	type WebDeps,
} from "../page.ts";
import * as paths from "../paths.ts";
import { NETWORK_PATH } from "../paths.ts";
import { uploadOf } from "../receive-file.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

const FORM = declareForm<NetworkField | "isFirst">({
	/**
	 * Hidden field that only the form of the first step sends. That form asks for nothing but the name and the
	 * brand.
	 */
	isFirst: HIDDEN,
	name: {
		label: "Network name",
		hint: "Shown on every page and in every mail.",
		autocomplete: "organization",
		isRequired: true,
	},
	brand: { label: "Brand in header names (optional)", isMono: true },
	colour: {
		label: "Colour",
		hint: "Six hex digits, such as #3b4fd8. Where it would be hard to read, we make it darker or lighter. Leave empty to use Ringback's colour.",
		isMono: true,
	},
	supportAddress: {
		label: "Support address",
		hint: "Shown below every page and mail. Replies to mails go there.",
		type: "email",
	},
	timeZone: {
		label: "Time zone",
		hint: "Days and months begin at midnight there: in filters, sums, statements, mails and files.",
		options: TIME_ZONES.map((zone) => ({ value: zone, label: zone.replaceAll("_", " ") })),
	},
	senderName: {
		label: "Sender's name",
		hint: "Leave empty to use the network's name.",
	},
	senderAddress: {
		label: "Sender's address",
		hint: "Leave empty to use the address in MAIL_FROM. Your mail server must allow the address: send a test mail to check.",
		type: "email",
	},
});
const LOGO_FORM = declareForm({
	file: {
		label: "Picture",
		accept: LOGO_TYPE,
		hint: "PNG, at most 256 KB, 16 to 1,024 pixels wide and high. It is shown 28 pixels high. A wide logo (2:1 or more) replaces the name.",
		isRequired: true,
	},
});

export async function showNetwork(c: WebContext, { store, mailer }: WebDeps): Promise<Response> {
	const face = c.get("network");
	const isSetUp = face.setUpEndedAtMs === null;
	const first = isSetUp ? await findFirstProgramme(store.db) : undefined;
	if (isSetUp && !isNamed(face)) return showFirstStep(c, first === undefined);
	// The badges "Done" and "To do" are shown only during the set-up.
	const stateOf = (isDone: boolean) =>
		isSetUp ? (isDone ? ui.badge("good", "Done") : ui.badge("plain", "To do")) : null;
	const title = "Network";
	const end = ui.buttonForm({
		action: paths.END_SET_UP_PATH,
		label: "Don't show the set-up again",
		tone: "quiet",
	});
	return answerPage(c, {
		title,
		active: "network",
		body: [
			isSetUp
				? ui.pageHeader({ title, hint: "You can do the open steps later.", actions: end })
				: ui.pageHeader({ title, hint: "People see this on pages and in mails. Changes show at once." }),
			isSetUp
				? ui.section({
						id: "programme",
						title: "First programme",
						actions: stateOf(first !== undefined),
						body: programmeBody(c, first),
					})
				: null,
			ui.section({
				id: "network",
				title: "Name, look, time zone and sender",
				actions: stateOf(true),
				body: ui.padded(wholeForm(c, face)),
			}),
			logoSection(c, face),
			await payoutsSection(c, store.db),
			ui.section({
				id: "mail",
				title: "Mail",
				actions: stateOf(face.mailTestedAtMs !== null),
				body: ui.padded(mailer === null ? MAIL_IS_OFF : testMail(c, face)),
			}),
			ui.section({
				id: "api",
				title: "API tokens",
				hint: "With a token, the network's own systems read and administer over the API.",
				actions: ui.linkButton({ label: "API tokens", href: paths.NETWORK_TOKENS_PATH }),
				body: null,
			}),
		],
	});
}

function isNamed({ name, isBrandChosen }: NetworkFace): boolean {
	return name !== null && isBrandChosen;
}

/** Shows the first step, which asks only for the name and the brand. All other steps need them. */
function showFirstStep(c: WebContext, offersSample: boolean): Promise<Response> {
	const face = c.get("network");
	const title = "Set up your network";
	const sample = { label: "Save and try it with a sample programme", name: "isFirst", value: "sample" };
	const form = FORM.show(c, {
		action: NETWORK_PATH,
		values: { ...valuesOf(face), isFirst: "yes" },
		shown: ["name", ...brandFields(face)],
		looks: { brand: { hint: brandHint(face) } },
		rows: ({ fields }) =>
			html`${fields("isFirst")}<div class="form-grid">${fields()}</div>${brandNote(face)}`,
		send: html`<div class="row">${ui.button({ label: "Save and continue", tone: "primary" })}${
			offersSample ? ui.button(sample) : null
		}</div>`,
	});
	const body = ui.section({ id: "network", title: "Name and brand", body: ui.padded(form) });
	return answerPage(c, { title, active: "network", body: [ui.pageHeader({ title }), body] });
}

function wholeForm(c: WebContext, face: NetworkFace): Html {
	return FORM.show(c, {
		action: NETWORK_PATH,
		values: valuesOf(face),
		shown: [
			"name",
			"supportAddress",
			"colour",
			"timeZone",
			"senderName",
			"senderAddress",
			...brandFields(face),
		],
		looks: { brand: { hint: brandHint(face) } },
		rows: ({ fields }) => html`<div class="form-grid">${fields("name", "supportAddress", "colour")}</div>
	<div class="form-grid">${fields("timeZone", "senderName", "senderAddress")}</div>
	${brandNote(face)}${face.brandState === "open" ? html`<div class="form-grid">${fields("brand")}</div>` : null}`,
		send: "Save",
	});
}

function valuesOf(face: NetworkFace) {
	const { name, colour, supportAddress, timeZone, senderName, senderAddress } = face;
	const brand = face.isBrandChosen ? face.brand : "";
	return { name, brand, colour, supportAddress, timeZone, senderName, senderAddress };
}

/** Returns the field for the brand, or no field if the brand can no longer be changed. */
function brandFields({ brandState }: NetworkFace): readonly "brand"[] {
	return brandState === "open" ? ["brand"] : [];
}

function brandHint({ brand, isBrandChosen }: NetworkFace): Content {
	const shown = headerNames(isBrandChosen && isBrand(brand) ? brand : "Acme").signature;
	return html`As in <code>${shown}</code>. Leave empty to use the name.`;
}

/** Warns that the brand becomes permanent, or explains why it can no longer be changed. */
function brandNote({ brand, brandState, hasSample }: NetworkFace): Html {
	const name = html`<code>${headerNames(brand).signature}</code>`;
	switch (brandState) {
		case "open":
			return ui.message(
				"warn",
				html`<strong>The brand is permanent</strong> once a shop has an API key, because shops check header names that contain it. Until then you can change it. ${
					hasSample
						? "If you do, the header names of the sample programme change too, so copy its snippets again."
						: "A sample programme does not make it permanent."
				}`,
			);
		case "given":
			return html`<p class="small soft">Headers are named ${name}: the brand is given by <code>RINGBACK_BRAND</code>.</p>`;
		case "fixed":
			return html`<p class="small soft">Headers are named ${name}. The brand cannot be changed any more, because a shop has an API key and relies on the header names.</p>`;
		default:
			return brandState satisfies never;
	}
}

export async function saveNetwork(c: WebContext, deps: WebDeps): Promise<Response> {
	const { isFirst, ...typed } = await FORM.read(c);
	const { brand, timeZone, ...others } = typed;
	const { brandState } = c.get("network");
	const chosen = brandState === "open" ? { brand } : {};
	// A form that was opened before the network had a time zone sends no time zone.
	const zone = timeZone === "" ? {} : { timeZone };
	const input = { ...(isFirst === "" ? { ...others, ...zone } : { name: typed.name }), ...chosen };
	const changed = await changeNetwork(deps, actorOf(c), input);
	if (!changed.ok) return FORM.refuse(c, changed, () => showNetwork(c, deps), { ...typed, isFirst: "yes" });
	if (isFirst === "sample") return trySample(c, deps);
	const hasProgramme = isFirst === "" || (await findFirstProgramme(deps.store.db)) !== undefined;
	const path = hasProgramme ? NETWORK_PATH : paths.CREATE_PROGRAMME_PATH;
	if (changed.value.length === 0) return leadTo(c, path, "Nothing was changed.", "info");
	return leadTo(c, path, "Saved.");
}

export async function savePayouts(c: WebContext, deps: WebDeps): Promise<Response> {
	const saved = await savePayoutSettings(deps, actorOf(c), await readPayoutsForm(c, deps.store.db));
	if (!saved.ok) return PAYOUTS_FORM.refuse(c, saved, () => showNetwork(c, deps));
	const path = `${NETWORK_PATH}#payouts`;
	return saved.value ? leadTo(c, path, "Saved.") : leadTo(c, path, "Nothing was changed.", "info");
}

export async function finishSetUp(c: WebContext, deps: WebDeps): Promise<Response> {
	const ended = await endSetUp(deps, actorOf(c));
	if (!ended.ok) return tellRefusal(c, ended, () => showNetwork(c, deps));
	const text = "The set-up is no longer shown. You find its settings under Network.";
	return leadTo(c, paths.PROGRAMMES_PATH, text, "info");
}

function programmeBody(c: WebContext, first: string | undefined): Html {
	const create = { label: "Create programme", href: paths.CREATE_PROGRAMME_PATH } as const;
	if (first !== undefined) {
		return ui.padded(
			html`<p>You have one. On its Integration page you get the API key, the signing secret and snippets.</p>`,
			html`<div class="row">${ui.linkButton({ label: "Go to Integration", href: paths.integrationPath(first) })}${ui.linkButton(create)}</div>`,
		);
	}
	return ui.padded(
		html`<p>A programme is a shop's agreement with you: its currency, its rates, its approval window. Moving from other software? <a href="${paths.IMPORT_PATH}">Import programmes, people and decided conversions</a>.</p>`,
		html`<div class="row">${ui.linkButton({ ...create, tone: "primary" })}${sampleForm(c)}</div>`,
	);
}

// The button "Try it with a sample programme" makes a programme with an API key in one click, and leads to
// Integration, which shows the key once. The button is offered until the first programme exists.

/**
 * Returns the button for a sample programme. Returns null before a brand was chosen, because the snippets of the
 * sample show header names, which should be the network's own.
 */
export function sampleForm(c: WebContext): Html | null {
	if (!c.get("network").isBrandChosen) return null;
	return ui.buttonForm({
		action: paths.SAMPLE_PROGRAMME_PATH,
		label: "Try it with a sample programme",
	});
}

export async function trySample(c: WebContext, deps: WebDeps): Promise<Response> {
	if (!(await deps.network.read()).isBrandChosen) {
		const text = "Name your network first. The snippets of the sample programme show its header names.";
		return leadTo(c, NETWORK_PATH, text, "info");
	}
	const actor = actorOf(c);
	const opened = await openSampleProgramme(deps, { ...deps, kind: "invited", actor });
	if (!opened.ok) return leadTo(c, NETWORK_PATH, opened.fault.detail, "bad");
	if (opened.value === null) {
		const first = await findFirstProgramme(deps.store.db);
		const path = first === undefined ? NETWORK_PATH : paths.integrationPath(first);
		return leadTo(c, path, "There is a programme already. Try it with this one.", "info");
	}
	// The cached settings are dropped, because they were read before the sample programme existed.
	deps.network.forget();
	c.set("network", await deps.network.read());
	const { programme, issued } = opened.value;
	await addSamplePartner(deps, actor, programme.id);
	c.set("programme", programme);
	c.set("standing", "staff");
	return showCallbacks(c, deps, issued);
}

const MAIL_IS_OFF = ui.message(
	"warn",
	html`<strong>Mail is off.</strong> You have to hand over invitations and password links yourself, and notices appear on the pages only. Set <code>SMTP_URL</code> and <code>MAIL_FROM</code>, and restart.`,
);

function testMail(c: WebContext, { mailTestedAtMs }: NetworkFace): Html {
	const tested =
		mailTestedAtMs === null
			? html`<p>Mail is on. Send a test to yourself to check that it arrives and how it looks.</p>`
			: html`<p>Your mail server last accepted a test mail on ${ui.timeTag(mailTestedAtMs)}.</p>`;
	return html`${tested}${ui.postForm({
		action: paths.TEST_MAIL_PATH,
		className: "row",
		body: html`${ui.button({ label: "Send a test mail to me" })}<span class="small soft break">${viewerOf(c).email}</span>`,
	})}`;
}

export async function sendTest(c: WebContext, deps: WebDeps): Promise<Response> {
	const { personId, email } = viewerOf(c);
	const sent = await sendTestMail(deps, { personId, email });
	const path = `${NETWORK_PATH}#mail`;
	if (!sent.ok) return leadTo(c, path, sent.fault.detail, "bad");
	const text = `Your mail server accepted the test mail. Check the inbox of ${email}, and the spam folder.`;
	return leadTo(c, path, text);
}

// Shows the current logo, and the forms to replace or remove it.

function logoSection(c: WebContext, { logo }: NetworkFace): Html {
	const remove = { action: paths.REMOVE_LOGO_PATH, label: "Remove", isSmall: true };
	const present =
		logo === null
			? html`<p class="small soft">No logo yet: Ringback's mark is shown beside the network's name.</p>`
			: html`<div class="row">${logoImage(logo)}<span class="small soft">${logo.width} × ${logo.height} pixels</span>${ui.buttonForm({ ...remove, ariaLabel: "Remove the logo" })}</div>`;
	const send = html`<div class="row">${ui.button({ label: "Upload" })}</div>`;
	return ui.section({
		id: "logo",
		title: "Logo",
		body: ui.padded(present, LOGO_FORM.show(c, { action: paths.LOGO_PATH, send })),
	});
}

const LOGO_ANCHOR = `${NETWORK_PATH}#logo`;

export async function uploadLogo(c: WebContext, deps: WebDeps): Promise<Response> {
	const upload = uploadOf(c, "Choose a picture first.");
	const saved = upload.ok
		? await saveLogo(deps, actorOf(c), Buffer.concat(await Array.fromAsync(upload.value.read())))
		: upload;
	if (!saved.ok) return LOGO_FORM.refuse(c, saved, () => showNetwork(c, deps));
	return leadTo(c, LOGO_ANCHOR, "The logo is saved.");
}

export async function dropLogo(c: WebContext, deps: WebDeps): Promise<Response> {
	const removed = await removeLogo(deps, actorOf(c));
	if (!removed.ok) return tellRefusal(c, removed, () => showNetwork(c, deps));
	return leadTo(c, LOGO_ANCHOR, "The logo is removed.");
}
