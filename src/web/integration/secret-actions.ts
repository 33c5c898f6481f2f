// The buttons of a secret's replacement: each does one step and says what comes next.

import {
	activateSecret,
	discardSecret,
	endReplacedSecrets,
	prepareSecret,
} from "../../accounts/signing-secret.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import { type Action, back, backWithFault, whoAndWhere } from "./actions.ts";
import { handOverIssued } from "./issued-cookie.ts";

export const issueNextSecret: Action = async (c, deps) => {
	const { programme, personId } = whoAndWhere(c);
	const prepared = await prepareSecret(deps, programme.public_id, personId);
	if (!prepared.ok) return backWithFault(c, prepared.fault);
	handOverIssued(c, deps, programme, personId, { key: null, secret: prepared.value.secret });
	return back(c, "keys");
};

export const activateNextSecret: Action = async (c, deps) => {
	const { programme, personId } = whoAndWhere(c);
	const { secretId } = await readTextFields(c, ["secretId"]);
	const activated = await activateSecret(deps, programme.public_id, secretId, personId);
	if (!activated.ok) return backWithFault(c, activated.fault);
	setFlash(
		c,
		"good",
		"The new secret is active: callbacks are signed with it. When nothing of yours uses the old one any more, end it.",
	);
	return back(c);
};

export const discardNextSecret: Action = async (c, deps) => {
	const { programme, personId } = whoAndWhere(c);
	const { secretId } = await readTextFields(c, ["secretId"]);
	const discarded = await discardSecret(deps, programme.public_id, secretId, personId);
	if (!discarded.ok) return backWithFault(c, discarded.fault);
	setFlash(c, "good", "The prepared secret is discarded. The active one stays as it is.");
	return back(c);
};

export const endOldSecret: Action = async (c, deps) => {
	const { programme, personId } = whoAndWhere(c);
	const ended = await endReplacedSecrets(deps, programme.public_id, personId);
	if (!ended.ok) return backWithFault(c, ended.fault);
	setFlash(c, "good", "The old secret has ended: requests signed with it are refused from now on.");
	return back(c);
};
