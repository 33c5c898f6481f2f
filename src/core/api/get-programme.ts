// GET /v1/programme, with which a shop's server reads the agreed terms that its own code depends on: the currency, what
// the basket value contains, and for how long a click counts.

import * as z from "zod";
import { BASKET_RULES, basketSentence, describeBasketValue } from "../domain/basket-rule.ts";
import { succeed } from "../domain/fault.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { CONVERSION_FIELDS } from "./conversion-fields.ts";
import { answer, type SignedRoute } from "./route.ts";
import type { Endpoint } from "./signed-call.ts";

const ONE_PROGRAMME = z
	.strictObject({
		programme: z.strictObject({
			id: CONVERSION_FIELDS.programId.describe("The programme's ID."),
			name: z.string().meta({ description: "The programme's name.", examples: ["Garden Shop"] }),
			currency: CONVERSION_FIELDS.currency,
			basketRule: z.enum(BASKET_RULES).meta({
				description:
					"What `basketValue` of a sale contains. `TOTAL`: the total that the customer pays, with VAT and shipping, after discounts. `TOTAL_NET`: the same without VAT. `GOODS`: the goods alone, with VAT, after discounts. `GOODS_NET`: the goods alone, without VAT, after discounts.",
				examples: ["GOODS_NET"],
			}),
			basketRuleText: z.string().meta({
				description: "The same in words, with what the programme adds to it.",
				examples: [basketSentence("GOODS_NET")],
			}),
			approvalDays: z
				.int()
				.min(0)
				.meta({ description: "Days until a conversion is approved automatically.", examples: [30] }),
			creditsPartners: z.boolean().meta({
				description: "True if only sales that a partner brought have a commission and a network fee.",
				examples: [true],
			}),
			clickParameter: z.string().meta({
				description: "The query parameter with which a partner's link brings the click ID to the shop.",
				examples: ["rbclick"],
			}),
			clickDays: z
				.int()
				.min(1)
				.meta({ description: "Days after a click in which a sale is credited to it.", examples: [30] }),
		}),
	})
	.meta({ id: "OneProgramme", description: "The terms of the programme that a shop's code depends on." });
type OneProgramme = z.output<typeof ONE_PROGRAMME>;

export const SHOW_PROGRAMME: SignedRoute = {
	caller: "shop",
	method: "GET",
	path: "/v1/programme",
	tag: "Programme",
	operationId: "showOwnProgramme",
	summary: "Show the terms of the programme",
	description:
		"Shows the terms of the API key's programme that a shop's code depends on: the currency, what `basketValue` contains, the approval window, and for how long a click counts. Owners and staff can change them, so read them again from time to time.",
	answers: { 200: answer("The programme.", ONE_PROGRAMME) },
	faults: [],
	plan: () => showProgramme,
};

const showProgramme: Endpoint = ({ programme }) => ({
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
