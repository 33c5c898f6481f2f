// GET /v1/programme, with which a shop's server reads the agreed terms that its own code depends on: the currency, what
// the basket value contains, and for how long a click counts.

import { describeBasketValue } from "../domain/basket-rule.ts";
import { succeed } from "../domain/fault.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { OneProgramme } from "./answers.ts";
import type { Endpoint } from "./signed-call.ts";

export const getProgramme: Endpoint = ({ programme }) => ({
	orderId: null,
	requests: [],
	answer: () =>
		succeed({ outcome: "SHOWN", httpStatus: 200, body: programmeBody(programme), conversionId: null }),
});

function programmeBody(programme: Programme): OneProgramme {
	return {
		programme: {
			id: programme.public_id,
			name: programme.name,
			currency: programme.currency,
			basketRule: programme.basket_rule,
			basketRuleText: describeBasketValue(programme.basket_rule, programme.basket_note),
			approvalDays: programme.approval_days,
			creditsPartners: programme.credits_partners === 1,
			clickParameter: programme.click_parameter,
			clickDays: programme.click_days,
		},
	};
}
