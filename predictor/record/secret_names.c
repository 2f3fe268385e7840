/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>
#include <strings.h>

#include "predictor/record/secret.h"
#include "predictor/record/secret_names.h"

/* Parts of words that make an argument secret whatever its value, in the languages of Europe as far
 * as no English word contains them. */
static const char *const sufficient_parts[] = {
  "passw",      "passphrase", "passcode",    "passkey",    "secret",       "credential",
  "apikey",     "accesskey",  "appkey",      "authkey",    "privatekey",   "secretkey",
  "sshkey",     "signingkey", "masterkey",   "licensekey", "accountkey",   "sharedkey",
  "authtoken",  "sessionid",  "sessid",      "macaroon",   "mnemonic",     "csrf",
  "xsrf",       "kennwort",   "losung",      "geheim",     "zugangsdaten", "anmeldedaten",
  "motdepasse", "contrase",   "contrasinal", "senha",      "segreto",      "segred",
  "wachtwoord", "kodeord",    "adgangskode", "lösenord",   "losenord",     "hemlig",
  "passord",    "salasana",   "hasło",       "haslo",      "heslo",        "jelsz",
  "lozinka",    "zaporka",    "slaptažod",   "slaptazod",  "pasahitza",    "parool",
  "şifre",      "sifre",      "парол",       NULL
};

/* Whole words with the same effect. */
static const char sufficient_words[] =
    "bearer,jwt,otp,totp,cred,creds,oauth,oauth2,authorization,authorisation,cookie,cookies,passin,"
    "passout,sshpass,dbpass,userpass,psk,ssn,iban,cvv,cvc,puk,creditcard,cardnumber,kreditkarte,"
    "mdp,geslo,parola,palavrapasse,pincode,keycode,authcode,accesscode,securitycode,zugangscode";

/* Words that make an argument secret unless a word of quantity_words is next to them. */
static const char ambiguous_words[] =
    "token,tokens,key,keys,pass,pwd,pw,auth,signature,sig,hmac,pat,session,sid,sas,unlock,webhook,"
    "passe,clave,chave,chiave,clé,jeton,schluessel,schlüssel,sleutel,nyckel,klucz";

/* Words for quantities and kinds: "max_tokens", "sort_key". */
static const char quantity_words[] =
    "max,min,num,n,count,counts,size,sizes,len,length,lengths,dim,dims,head,heads,per,type,types,"
    "rate,bits,limit,budget,total,level,pad,eos,bos,unk,sep,cls,mask,special,new,sort,public,group,"
    "column,col,field,foreign,primary,value,first,second,high,low,band,all,single,multi,timeout,"
    "ttl,"
    "seconds,interval,memory,offset,stride";

/* Words that make a number of CODE_DIGITS digits a secret, "--pin 4711", and no shorter one,
 * "--card 0"; unless a word of quantity_words or code_kinds is next to them. */
static const char code_words[] =
    "pin,mfa,2fa,tan,code,card,unlock,pass,pwd,pw,passe,nip,geheimzahl,"
    "kod,kode,codigo,código,codice,karte,carte,carta,tarjeta";
static const char code_kinds[] = "exit,error,status,return,source,genetic,zip,postal,country,"
                                 "language,area,color,colour,op,bar";

/* Words for a user, whose values may be "user:password", and for a service that users log in to. */
static const char user_words[] =
    "u,user,username,usr,userpwd,userid,login,logon,benutzer,benutzername,nutzer,utilisateur,"
    "identifiant,usuario,usuário,utente,gebruiker,bruger,bruker,användare,käyttäjä,uzytkownik,"
    "użytkownik,uzivatel,uživatel";
static const char service_words[] =
    "account,proxy,remote,server,ftp,sftp,smb,http,https,imap,smtp,mail,ldap,mysql,postgres,mongo,"
    "redis,db,database,connect,connection,dsn,registry,access,basic,principal";

/* Values of on-off options and names of algorithms, never secret. */
static const char choices[] =
    "yes,no,true,false,none,null,auto,on,off,never,always,required,md5,sha1,"
    "sha224,sha256,sha384,sha512,aes,aes128,aes256,rsa,dsa,ecdsa,ed25519";

/* Whether C belongs to a word: a letter, a digit or a byte of a letter in UTF-8. */
static bool is_word_byte(char c)
{
  return is_alnum(c) || (unsigned char)c >= 0x80;
}

/* Extracts the next WORD of NAME. Words end at punctuation and at the capitals of camelCase. */
static bool next_name_word(struct ft_text *name, struct ft_text *word)
{
  const char *p;

  while (name->at < name->end && !is_word_byte(*name->at))
    name->at++;
  for (p = name->at; p < name->end && is_word_byte(*p); p++) {
    bool after_lower = p > name->at && is_upper(*p) && !is_upper(p[-1]);
    bool ends_capitals =
        p > name->at && is_upper(*p) && is_upper(p[-1]) && p + 1 < name->end && is_lower(p[1]);

    if (after_lower || ends_capitals)
      break;
  }
  *word = (struct ft_text){ name->at, p };
  name->at = p;
  return word->at < word->end;
}

static bool contains_ignoring_case(struct ft_text word, const char *part)
{
  size_t length = strlen(part);

  for (; ft_text_left(&word) >= length; word.at++)
    if (to_lower(*word.at) == part[0] && strncasecmp(word.at, part, length) == 0)
      return true;
  return false;
}

static bool ends_ignoring_case(struct ft_text word, const char *tail)
{
  size_t length = strlen(tail), left = ft_text_left(&word);

  return left > length && strncasecmp(word.end - length, tail, length) == 0;
}

static bool is_sufficient_word(struct ft_text word)
{
  for (const char *const *part = sufficient_parts; *part; part++)
    if (contains_ignoring_case(word, *part))
      return true;
  return ends_ignoring_case(word, "token") || ends_ignoring_case(word, "pwd") ||
         ft_text_lists_any_case(ft_text_from(sufficient_words), word);
}

/* Whether VALUE is "12", "0.5", "4k" or "300B", with at most DIGITS digits. */
static bool is_short_number(const char *value, size_t digits)
{
  size_t seen = 0;

  if (*value == '-' || *value == '+')
    value++;
  for (; is_digit(*value) || (*value == '.' && seen); value++)
    seen += *value != '.';
  if (*value && strchr("kKmMgGtTpPbB%", *value))
    value++;
  return seen && seen <= digits && !*value;
}

bool ft_secret_is_path(const char *value)
{
  if (value[0] != '/' && strncmp(value, "./", 2) != 0 && strncmp(value, "../", 3) != 0)
    return false;
  for (; *value; value++)
    if (!is_alnum(*value) && !strchr("/._-", *value))
      return false;
  return true;
}

bool ft_secret_is_code(const char *value)
{
  enum { CODE_DIGITS = 4 }; /* of the shortest PIN; ISO 9564-1 */
  struct ft_text text = ft_text_from(value);
  size_t digits = 0;
  double number;

  for (const char *p = value; *p; p++)
    digits += is_digit(*p);
  return digits >= CODE_DIGITS && !ft_secret_is_path(value) &&
         !(strchr(value, '.') && ft_text_is_double(text, &number));
}

/* Whether VALUE is "user:password", "user%password" (smbclient) or "user/password@host" (Oracle).
 * Two numbers are a uid and a gid. Of a SERVICE a host, a port or a path may follow instead of a
 * password, which needs letters and digits then. */
static bool is_login(const char *value, bool service)
{
  size_t user = strcspn(value, service ? ":/" : ":%/");
  const char *password = value + user + (value[user] != '\0');
  bool digits_only = !password[strspn(password, "0123456789")];

  if (!user || !*password || *password == '/')
    return false;
  if (value[user] == '/')
    return strchr(password, '@');
  if (service)
    return !digits_only && strpbrk(password, "0123456789") && !strpbrk(password, "./ ") &&
           strlen(password) >= FT_SECRET_LEAST;
  return !digits_only || strspn(value, "0123456789") < user;
}

struct ft_secret_words ft_secret_find_words(struct ft_text name)
{
  struct ft_secret_words found = { 0 };
  struct ft_text word;

  while (next_name_word(&name, &word)) {
    found.sufficient |= is_sufficient_word(word);
    found.ambiguous |= ft_text_lists_any_case(ft_text_from(ambiguous_words), word);
    found.plural |= contains_ignoring_case(word, "tokens") || contains_ignoring_case(word, "keys");
    found.quantity |= ft_text_lists_any_case(ft_text_from(quantity_words), word);
    found.code |= ft_text_lists_any_case(ft_text_from(code_words), word);
    found.code_kind |= ft_text_lists_any_case(ft_text_from(code_kinds), word);
    found.user |= ft_text_lists_any_case(ft_text_from(user_words), word);
    found.service |= ft_text_lists_any_case(ft_text_from(service_words), word);
  }
  return found;
}

bool ft_secret_words_hide(const struct ft_secret_words *found, const char *value)
{
  enum {
    COUNT_DIGITS = 5, /* in a count, "65536" tokens; longer numbers may be codes; by judgement */
    ANY_DIGITS = 64   /* after "tokens" or "keys" a number is always a count */
  };

  if (found->sufficient || (found->user && is_login(value, false)) ||
      (found->service && is_login(value, true)))
    return true;
  if (found->code && !found->quantity && !found->code_kind && ft_secret_is_code(value))
    return true;
  return found->ambiguous && !found->quantity &&
         !is_short_number(value, found->plural ? ANY_DIGITS : COUNT_DIGITS) &&
         !ft_secret_is_path(value);
}

bool ft_secret_is_choice(const char *value)
{
  return ft_text_lists_any_case(ft_text_from(choices), ft_text_from(value));
}
