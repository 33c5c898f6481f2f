// The forms of the page with a partner's people (/partner/:id/people). The page itself is core/web/people/people-page.ts.

import type { WebContext, WebDeps } from "#core/web/page.ts";
import * as page from "#core/web/page.ts";
import { partnerPeoplePath } from "#core/web/paths.ts";
import { INVITE_FORM, personIdOf, sayRemoved, showPeople } from "#core/web/people/people-page.ts";
import { inviteToPartner, removePartnerPerson, renewPartnerLink } from "../use-cases/partners.ts";

export async function invite(c: WebContext, deps: WebDeps): Promise<Response> {
	const email = (await INVITE_FORM.read(c)).email.trim();
	const invited = await inviteToPartner(deps, page.actorOf(c), page.partnerOf(c), email);
	if (!invited.ok) return INVITE_FORM.refuse(c, invited, () => showPeople(c, deps));
	return showPeople(c, deps, invited.value);
}

export async function renewLink(c: WebContext, deps: WebDeps): Promise<Response> {
	const renewed = await renewPartnerLink(deps, page.actorOf(c), page.partnerOf(c), personIdOf(c));
	if (!renewed.ok) return page.tellRefusal(c, renewed, () => showPeople(c, deps));
	return showPeople(c, deps, renewed.value);
}

export async function removePerson(c: WebContext, deps: WebDeps): Promise<Response> {
	const partner = page.partnerOf(c);
	const removed = await removePartnerPerson(deps, page.actorOf(c), partner, personIdOf(c));
	if (!removed.ok) return page.tellRefusal(c, removed, () => showPeople(c, deps));
	const { person, ended } = removed.value;
	return page.leadTo(c, partnerPeoplePath(partner.public_id), sayRemoved(person, ended));
}
