/**
 * Abbreviations of IANA zones as the tz database (public domain) gives them for recent years; Intl knows most of them only
 * as `GMT+8`. Zones without an alphabetic abbreviation (`+03`) are absent. Key: names with their offsets in minutes.
 */

const zonesByNames: Readonly<Record<string, string>> = {
  'ACDT+630 ACST+570': 'Australia/Adelaide Australia/Broken_Hill Australia/South',
  'ACST+570': 'Australia/Darwin Australia/North',
  'ADT-180 AST-240':
    'America/Glace_Bay America/Goose_Bay America/Halifax America/Moncton America/Thule Atlantic/Bermuda Canada/Atlantic',
  'AEDT+660 AEST+600':
    'Antarctica/Macquarie Australia/ACT Australia/Hobart Australia/Melbourne Australia/NSW Australia/Sydney Australia/Tasmania Australia/Victoria',
  'AEST+600': 'Australia/Brisbane Australia/Lindeman Australia/Queensland',
  'AKDT-480 AKST-540':
    'America/Anchorage America/Juneau America/Metlakatla America/Nome America/Sitka America/Yakutat US/Alaska',
  'AST-240':
    'America/Anguilla America/Antigua America/Aruba America/Barbados America/Blanc-Sablon America/Curacao America/Dominica America/Grenada America/Guadeloupe America/Kralendijk America/Lower_Princes America/Marigot America/Martinique America/Montserrat America/Port_of_Spain America/Puerto_Rico America/Santo_Domingo America/St_Barthelemy America/St_Kitts America/St_Lucia America/St_Thomas America/St_Vincent America/Tortola',
  'AWST+480': 'Australia/Perth Australia/West',
  'BST+60 GMT+0': 'Europe/Guernsey Europe/Isle_of_Man Europe/Jersey Europe/London GB',
  'CAT+120':
    'Africa/Blantyre Africa/Bujumbura Africa/Gaborone Africa/Harare Africa/Juba Africa/Khartoum Africa/Kigali Africa/Lubumbashi Africa/Lusaka Africa/Maputo Africa/Windhoek',
  'CDT-240 CST-300': 'America/Havana',
  'CDT-300 CST-360':
    'America/Chicago America/Indiana/Knox America/Indiana/Tell_City America/Matamoros America/Menominee America/North_Dakota/Beulah America/North_Dakota/Center America/North_Dakota/New_Salem America/Ojinaga America/Rankin_Inlet America/Resolute America/Winnipeg CST6CDT Canada/Central US/Central',
  'CEST+120 CET+60':
    'Africa/Ceuta Arctic/Longyearbyen CET Europe/Amsterdam Europe/Andorra Europe/Belgrade Europe/Berlin Europe/Bratislava Europe/Brussels Europe/Budapest Europe/Busingen Europe/Copenhagen Europe/Gibraltar Europe/Ljubljana Europe/Luxembourg Europe/Madrid Europe/Malta Europe/Monaco Europe/Oslo Europe/Paris Europe/Podgorica Europe/Prague Europe/Rome Europe/San_Marino Europe/Sarajevo Europe/Skopje Europe/Stockholm Europe/Tirane Europe/Vaduz Europe/Vatican Europe/Vienna Europe/Warsaw Europe/Zagreb Europe/Zurich Poland',
  'CET+60': 'Africa/Algiers Africa/Tunis',
  'CST+480': 'Asia/Chongqing Asia/Harbin Asia/Macau Asia/Shanghai Asia/Taipei PRC ROC',
  'CST-360':
    'America/Bahia_Banderas America/Belize America/Chihuahua America/Costa_Rica America/El_Salvador America/Guatemala America/Managua America/Merida America/Mexico_City America/Monterrey America/Regina America/Swift_Current America/Tegucigalpa',
  'ChST+600': 'Pacific/Guam Pacific/Saipan',
  'EAT+180':
    'Africa/Addis_Ababa Africa/Asmera Africa/Dar_es_Salaam Africa/Djibouti Africa/Kampala Africa/Mogadishu Africa/Nairobi Indian/Antananarivo Indian/Comoro Indian/Mayotte',
  'EDT-240 EST-300':
    'America/Detroit America/Grand_Turk America/Indiana/Indianapolis America/Indiana/Marengo America/Indiana/Petersburg America/Indiana/Vevay America/Indiana/Vincennes America/Indiana/Winamac America/Indianapolis America/Iqaluit America/Kentucky/Monticello America/Louisville America/Nassau America/New_York America/Port-au-Prince America/Toronto Canada/Eastern EST5EDT US/Eastern',
  'EEST+180 EET+120':
    'Africa/Cairo Asia/Beirut Asia/Famagusta Asia/Gaza Asia/Hebron Asia/Nicosia EET Egypt Europe/Athens Europe/Bucharest Europe/Chisinau Europe/Helsinki Europe/Kiev Europe/Kyiv Europe/Mariehamn Europe/Riga Europe/Sofia Europe/Tallinn Europe/Vilnius',
  'EET+120': 'Africa/Tripoli Europe/Kaliningrad',
  'EST-300': 'America/Cancun America/Cayman America/Coral_Harbour America/Jamaica America/Panama EST',
  'GMT+0':
    'Africa/Abidjan Africa/Accra Africa/Bamako Africa/Banjul Africa/Bissau Africa/Conakry Africa/Dakar Africa/Freetown Africa/Lome Africa/Monrovia Africa/Nouakchott Africa/Ouagadougou Africa/Sao_Tome America/Danmarkshavn Atlantic/Reykjavik Atlantic/St_Helena Etc/GMT GMT',
  'GMT+0 IST+60': 'Eire Europe/Dublin',
  'HDT-540 HST-600': 'America/Adak',
  'HKT+480': 'Asia/Hong_Kong Hongkong',
  'HST-600': 'HST Pacific/Honolulu US/Hawaii',
  'IDT+180 IST+120': 'Asia/Jerusalem Israel',
  'IST+330': 'Asia/Calcutta Asia/Kolkata',
  'JST+540': 'Asia/Tokyo Japan',
  'KST+540': 'Asia/Pyongyang Asia/Seoul ROK',
  'MDT-360 MST-420':
    'America/Boise America/Cambridge_Bay America/Ciudad_Juarez America/Denver America/Edmonton America/Inuvik Canada/Mountain MST7MDT US/Mountain',
  'MEST+120 MET+60': 'MET',
  'MSK+180': 'Europe/Kirov Europe/Moscow Europe/Simferopol Europe/Volgograd',
  'MST-420':
    'America/Creston America/Dawson America/Dawson_Creek America/Fort_Nelson America/Hermosillo America/Mazatlan America/Phoenix America/Whitehorse MST',
  'NDT-150 NST-210': 'America/St_Johns Canada/Newfoundland',
  'NZDT+780 NZST+720': 'Antarctica/McMurdo NZ Pacific/Auckland',
  'PDT-420 PST-480': 'America/Los_Angeles America/Tijuana America/Vancouver Canada/Pacific PST8PDT US/Pacific',
  'PKT+300': 'Asia/Karachi',
  'PST+480': 'Asia/Manila',
  'SAST+120': 'Africa/Johannesburg Africa/Maseru Africa/Mbabane',
  'SST-660': 'Pacific/Midway Pacific/Pago_Pago',
  'UTC+0': 'Etc/UTC UTC Zulu',
  'WAT+60':
    'Africa/Bangui Africa/Brazzaville Africa/Douala Africa/Kinshasa Africa/Lagos Africa/Libreville Africa/Luanda Africa/Malabo Africa/Ndjamena Africa/Niamey Africa/Porto-Novo',
  'WEST+60 WET+0': 'Atlantic/Canary Atlantic/Faeroe Atlantic/Madeira Europe/Lisbon Portugal WET',
  'WIB+420': 'Asia/Jakarta Asia/Pontianak',
  'WIT+540': 'Asia/Jayapura',
  'WITA+480': 'Asia/Makassar',
}

export interface Abbreviation {
  readonly name: string
  readonly offsetMinutes: number
}

const none: readonly Abbreviation[] = []
let byZone: Map<string, readonly Abbreviation[]> | undefined

/** The abbreviations of a zone; empty when it has none. The table is built on first use. */
export function abbreviations(zone: string): readonly Abbreviation[] {
  if (byZone === undefined) {
    byZone = new Map()
    for (const [names, zones] of Object.entries(zonesByNames)) {
      const list = names.split(' ').map((text) => {
        const at = text.search(/[+-]/)
        return { name: text.slice(0, at), offsetMinutes: Number(text.slice(at)) }
      })
      for (const name of zones.split(' ')) byZone.set(name, list)
    }
  }
  return byZone.get(zone) ?? none
}
