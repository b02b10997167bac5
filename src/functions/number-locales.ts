/**
 * How locales write numbers, in the default digits of each: the data of Unicode CLDR 32, which the reference's format() prints.
 * Own data instead of Intl, so that results do not change with the version of Node.js.
 */

export interface NumberStyle {
  /** Before a negative and before any other number. */
  readonly negative: string
  readonly positive: string
  readonly group: string
  readonly decimal: string
  /** Digits of every group but the last, which has three. */
  readonly groupSize: number
  readonly zero: string
}

const style = (
  negative: string,
  positive: string,
  group: string,
  decimal: string,
  groupSize = 3,
  zero = '0',
): NumberStyle => ({
  negative,
  positive,
  group,
  decimal,
  groupSize,
  zero,
})

const styles: readonly NumberStyle[] = [
  style('-', '', ',', '.'),
  style('-', '', '.', ','),
  style('-', '', '\u00a0', ','),
  style('-', '', ',', '.', 2),
  style('\u2212', '', '\u00a0', ','),
  style('\u200e-', '', ',', '.'),
  style('\u2212', '', '.', ','),
  style('\u200e-\u200e', '', '\u066c', '\u066b', 3, '\u06f0'),
  style('-', '', '\u2019', '.'),
  style('-', '', '\u00a0', '.'),
  style('\u061c-', '', '\u066c', '\u066b', 3, '\u0660'),
  style('-', '', ',', '.', 2, '\u09e6'),
  style('\u200e\u2212', '', '.', ','),
  style('-', '', ',', '.', 2, '\u0f20'),
  style('-', '', ',', '.', 3, '\u1040'),
  style('\u200e\u2212', '', '\u066c', '\u066b', 3, '\u06f0'),
  style('\u200e\u2212', '', ',', '.'),
  style('\u2212', '', '\u2019', '.'),
  style('\u200e-', '', '.', ','),
  style('\u200e-\u200e', '', '\u066c', '\u066b', 2, '\u06f0'),
  style('\u200e-', '', ',', '.', 2),
  style('-', '', ',', '.', 2, '\u0966'),
  style('-', '', ',', '.', 3, '\u0966'),
  style('-', '', ',', '.', 2, '\u{11136}'),
  style('\u200f-', '', '\u066c', '\u066b', 3, '\u0660'),
  style('-', '', '\u2019', ','),
]

/** Languages by style, and single locales that differ from their language; style 0 is everybody else's. */
const languages: Readonly<Record<number, string>> = {
  1: 'ast az aze bos bs ca cat da dan de deu dsb dut el ell es fry fur fy ger gl glg gre hbs hr hrv hsb ice id in ind is isl it ita jgo khm kin kkj km lao lb lin ln lo ltz lu lub mac mgh mk mkd mo mol mua nds nl nld nnh por pt rn ro ron rum run rw sag seh sg sh spa sr srp tr tur vi vie wo wol',
  2: 'af afr agq alb arm bas be bel bg br bre bul ces chu cs cu cze dua dyo ewo ff fr fra fre ful geo hu hun hy hye ka kab kat kaz kea kir kk ksf ky lav lv nmg os oss pl pol prg ru rus sah shi sk slk slo smn sq sqi tat tg tgk tk tt tuk tzm uk ukr uz uzb yav zgh',
  3: 'brx gu guj hi hin kok mal ml or ori pa pan prp ta tam',
  4: 'eo epo est et fi fin ksh lit lt nb nn nno nob se sme sv swe',
  5: 'he heb iw ur urd',
  6: 'baq eu eus fao fo kal kl sl slv',
  7: 'lrc mzn ps pus',
  9: 'dje khq mfe ses twq',
  10: 'ar ara sd snd',
  11: 'as asm ben bn',
  13: 'adp dz dzo',
  14: 'bur my mya',
  15: 'fa fas per',
  17: 'gsw rm roh',
  19: 'kas ks',
  21: 'mar mr',
  22: 'ne nep',
  23: 'ccp',
  24: 'ckb',
  25: 'wae',
}
const locales: Readonly<Record<number, string>> = {
  0: 'az_IQ az_IR aze_IQ aze_IR bur_BU bur_MM ckb_IQ ckb_IR es_BR es_BZ es_CU es_DO es_GT es_HN es_MX es_NI es_PA es_PE es_PR es_SV es_US kaz_AF kaz_CN kaz_IR kaz_MN kir_CN kir_TR kk_AF kk_CN kk_IR kk_MN ky_CN ky_TR lrc_IQ lrc_IR my_BU my_MM mya_BU mya_MM mzn_IR ne_IN ne_NP nep_IN nep_NP sd_PK snd_PK spa_BR spa_BZ spa_CU spa_DO spa_GT spa_HN spa_MX spa_NI spa_PA spa_PE spa_PR spa_SV spa_US ta_MY ta_SG tam_MY tam_SG tg_PK tgk_PK',
  1: 'en_AT en_BE en_CH en_DD en_DE en_DK en_NL en_SI eng_AT eng_BE eng_CH eng_DD eng_DE eng_DK eng_NL eng_SI fr_LU fr_MA fra_LU fra_MA fre_LU fre_MA may_BN ms_BN msa_BN qu_BO que_BO sw_CD sw_ZR swa_CD swa_ZR',
  2: 'de_AT deu_AT en_FI en_SE en_ZA eng_FI eng_SE eng_ZA es_CR ger_AT por_AO por_CH por_CV por_GQ por_GW por_LU por_MO por_MZ por_PT por_ST por_TL por_TP pt_AO pt_CH pt_CV pt_GQ pt_GW pt_LU pt_MO pt_MZ pt_PT pt_ST pt_TL pt_TP spa_CR',
  3: 'adp_BT as_IN asm_IN ben_BD ben_IN bn_BD bn_IN ccp_BD ccp_IN dz_BT dzo_BT en_IN eng_IN mar_IN mr_IN',
  5: 'ar_AE ar_BH ar_DJ ar_EG ar_EH ar_ER ar_IL ar_IQ ar_JO ar_KM ar_KW ar_OM ar_PS ar_QA ar_SA ar_SD ar_SO ar_SS ar_SY ar_TD ar_YD ar_YE ara_AE ara_BH ara_DJ ara_EG ara_EH ara_ER ara_IL ara_IQ ara_JO ara_KM ara_KW ara_OM ara_PS ara_QA ara_SA ara_SD ara_SO ara_SS ara_SY ara_TD ara_YD ara_YE pa_PK pan_PK',
  7: 'ur_IN urd_IN',
  8: 'de_CH de_LI deu_CH deu_LI ger_CH ger_LI it_CH ita_CH',
  12: 'ps_AF pus_AF uz_AF uzb_AF',
  16: 'fa_AF fa_IR fas_AF fas_IR per_AF per_IR',
  18: 'ar_DZ ar_LB ar_LY ar_MA ar_MR ar_TN ara_DZ ara_LB ara_LY ara_MA ara_MR ara_TN',
  20: 'kas_IN ks_IN',
}

let byName: Map<string, NumberStyle> | undefined

/** The style of a locale or language that is listed; the table is built on first use. */
function listed(name: string): NumberStyle | undefined {
  if (byName === undefined) {
    byName = new Map()
    for (const table of [languages, locales]) {
      for (const [index, list] of Object.entries(table)) {
        for (const each of list.split(' ')) byName.set(each, styles[Number(index)] as NumberStyle)
      }
    }
  }
  return byName.get(name)
}

/** Regions that are no countries. */
const groupings = new Set(['EU', 'EZ', 'QO', 'UN', 'XA', 'XB', 'ZZ'])
let names: { language: Intl.DisplayNames; region: Intl.DisplayNames } | undefined

function isKnown(language: string, region: string): boolean {
  names ??= {
    language: new Intl.DisplayNames('en', { type: 'language', fallback: 'none' }),
    region: new Intl.DisplayNames('en', { type: 'region', fallback: 'none' }),
  }
  return !groupings.has(region) && names.language.of(language) !== undefined && names.region.of(region) !== undefined
}

/** The style of a locale such as `de_CH` or `zh-Hant-HK`; undefined without a language and a country that are known. */
export function numberStyle(locale: string): NumberStyle | undefined {
  const found = /^([A-Za-z]{2,3})[_-](?:[A-Za-z]{4}[_-])?([A-Za-z]{2})(?:[_-][A-Za-z0-9]{4,8})*$/.exec(locale)
  if (!found) return undefined
  const language = (found[1] as string).toLowerCase()
  const region = (found[2] as string).toUpperCase()
  if (!isKnown(language, region)) return undefined
  return listed(`${language}_${region}`) ?? listed(language) ?? styles[0]
}
