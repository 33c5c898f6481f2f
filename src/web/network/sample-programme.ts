// "Try it with a sample programme": made with its key in one click, and on to Integration, which shows the key this once.
// Offered wherever there is no programme yet.

import { openSampleProgramme } from "../../programmes/sample-programme.ts";
import { findFirstProgramme } from "../../store/queries/programmes.ts";
import { handOverIssued } from "../integration/issued-cookie.ts";
import { csrfField, makerOf, setFlash, type WebContext, type WebDeps } from "../page.ts";
import { integrationPath, NETWORK_PATH, SAMPLE_PROGRAMME_PATH } from "../paths.ts";
import { buttonForm, type Html } from "../ui.ts";

/** Nothing before the network has its brand: the sample's key fixes it. */
export function sampleForm(c: WebContext): Html | null {
	if (!c.get("network").isBrandChosen) return null;
	return buttonForm({
		action: SAMPLE_PROGRAMME_PATH,
		csrf: csrfField(c),
		label: "Try it with a sample programme",
	});
}

export async function trySample(c: WebContext, deps: WebDeps): Promise<Response> {
	if (!(await deps.network.read()).isBrandChosen) {
		setFlash(c, "info", "Name your network first: the sample comes with an API key, which fixes the brand.");
		return c.redirect(NETWORK_PATH, 303);
	}
	const maker = makerOf(c);
	const opened = await openSampleProgramme(deps, { ...deps, kind: "invited", maker });
	if (!opened.ok) {
		setFlash(c, "bad", opened.fault.detail);
		return c.redirect(NETWORK_PATH, 303);
	}
	if (opened.value === null) return goToFirst(c, deps);
	// The brand is fixed now.
	deps.network.forget();
	const { programme, issued } = opened.value;
	handOverIssued(c, deps, programme, issued);
	return c.redirect(integrationPath(programme.public_id), 303);
}

async function goToFirst(c: WebContext, { store }: WebDeps): Promise<Response> {
	const first = await findFirstProgramme(store.db);
	setFlash(c, "info", "There is a programme already. Try it with this one.");
	return c.redirect(first === undefined ? NETWORK_PATH : integrationPath(first), 303);
}
