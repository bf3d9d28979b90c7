; Installs for one person, without asking for an administrator. scripts/package gives:
;   VERSION  FROZEN (the folder that PyInstaller made)  TARGET (the file to write)  ROOT
; It compiles on Linux too: makensis is a Debian package.

Unicode true
!ifdef UNIX
  Target amd64-unicode
!endif
SetCompressor /SOLID lzma
!include "MUI2.nsh"
!include "LogicLib.nsh"
!include "FileFunc.nsh"

!define NAME "Desktop Agent"
!define KEY "Software\Microsoft\Windows\CurrentVersion\Uninstall\DesktopAgent"
!define FOLDER_MENU "Software\Classes\Directory\shell\DesktopAgent"
!define INSIDE_MENU "Software\Classes\Directory\Background\shell\DesktopAgent"

Name "${NAME}"
OutFile "${TARGET}"
InstallDir "$LOCALAPPDATA\Programs\${NAME}"
InstallDirRegKey HKCU "${KEY}" "InstallLocation"
RequestExecutionLevel user
ShowInstDetails nevershow
ShowUninstDetails nevershow
BrandingText "${NAME} ${VERSION}"
VIProductVersion "${VERSION}.0"
VIAddVersionKey "ProductName" "${NAME}"
VIAddVersionKey "FileDescription" "Installs ${NAME}"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "LegalCopyright" "MIT License"

!define MUI_ICON "${ROOT}\resources\app-icon\desktop-agent.ico"
!define MUI_UNICON "${ROOT}\resources\app-icon\desktop-agent.ico"
!define MUI_ABORTWARNING
!define MUI_FINISHPAGE_RUN "$INSTDIR\Desktop Agent.exe"
!define MUI_FINISHPAGE_RUN_TEXT "Open ${NAME}"

!insertmacro MUI_PAGE_LICENSE "${ROOT}\LICENSE"
!insertmacro MUI_PAGE_COMPONENTS
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_COMPONENTS
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

; A running copy holds its files open: the person closes it, nothing is ended for them.
!macro LOOK_WHETHER_OPEN PROGRAM
  ${If} ${FileExists} "$INSTDIR\${PROGRAM}"
    ClearErrors
    FileOpen $0 "$INSTDIR\${PROGRAM}" a
    ${If} ${Errors}
      StrCpy $1 "open"
    ${Else}
      FileClose $0
    ${EndIf}
  ${EndIf}
!macroend

!macro WAIT_UNTIL_CLOSED
  ${Do}
    StrCpy $1 ""
    !insertmacro LOOK_WHETHER_OPEN "Desktop Agent.exe"
    !insertmacro LOOK_WHETHER_OPEN "desktop-agent.exe" ; a job in a terminal, or a batch of them
    StrCmp $1 "" closed
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "${NAME} is open. Close it when its agents have finished, then try again." /SD IDCANCEL IDRETRY again
    Abort
    again:
  ${Loop}
  closed:
!macroend

Section "${NAME}" SecApp
  SectionIn RO
  Call WaitUntilClosed
  ; What an older version had and this one has not must not stay.
  RMDir /r "$INSTDIR\_internal"
  SetOutPath "$INSTDIR"
  File /r "${FROZEN}\*"
  CreateShortcut "$SMPROGRAMS\${NAME}.lnk" "$INSTDIR\Desktop Agent.exe"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  WriteRegStr HKCU "${KEY}" "DisplayName" "${NAME}"
  WriteRegStr HKCU "${KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${KEY}" "DisplayIcon" "$INSTDIR\Desktop Agent.exe"
  WriteRegStr HKCU "${KEY}" "Publisher" "Desktop Agent contributors"
  WriteRegStr HKCU "${KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${KEY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${KEY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${KEY}" "NoModify" 1
  WriteRegDWORD HKCU "${KEY}" "NoRepair" 1
  ${GetSize} "$INSTDIR" "/S=0K" $0 $1 $2
  WriteRegDWORD HKCU "${KEY}" "EstimatedSize" "$0"
SectionEnd

Section "Open folders from the file manager" SecOpenWith
  WriteRegStr HKCU "${FOLDER_MENU}" "" "Open folder with ${NAME}"
  WriteRegStr HKCU "${FOLDER_MENU}" "Icon" "$INSTDIR\Desktop Agent.exe"
  WriteRegStr HKCU "${FOLDER_MENU}\command" "" '"$INSTDIR\Desktop Agent.exe" "%1"'
  WriteRegStr HKCU "${INSIDE_MENU}" "" "Open folder with ${NAME}"
  WriteRegStr HKCU "${INSIDE_MENU}" "Icon" "$INSTDIR\Desktop Agent.exe"
  ; The dot, which Windows drops, keeps the backslash of "C:\" from hiding the quote.
  WriteRegStr HKCU "${INSIDE_MENU}\command" "" '"$INSTDIR\Desktop Agent.exe" "%V."'
SectionEnd

Section /o "A shortcut on the desktop" SecDesktop
  CreateShortcut "$DESKTOP\${NAME}.lnk" "$INSTDIR\Desktop Agent.exe"
SectionEnd

Function WaitUntilClosed
  !insertmacro WAIT_UNTIL_CLOSED
FunctionEnd

Function un.WaitUntilClosed
  !insertmacro WAIT_UNTIL_CLOSED
FunctionEnd

Section "un.${NAME}" UnApp
  SectionIn RO
  Call un.WaitUntilClosed
  ; Only what the installer made: a folder that the person chose may hold more.
  RMDir /r "$INSTDIR\_internal"
  Delete "$INSTDIR\Desktop Agent.exe"
  Delete "$INSTDIR\desktop-agent.exe"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\${NAME}.lnk"
  Delete "$DESKTOP\${NAME}.lnk"
  DeleteRegKey HKCU "${FOLDER_MENU}"
  DeleteRegKey HKCU "${INSIDE_MENU}"
  DeleteRegKey HKCU "${KEY}"
SectionEnd

; Not ticked, and not done by a silent uninstall: the sessions are the person's.
Section /o "un.My sessions, settings and keys kept in files" UnData
  RMDir /r "$LOCALAPPDATA\desktop-agent"
SectionEnd

LangString DESC_APP ${LANG_ENGLISH} "The app, and an entry in the Start menu."
LangString DESC_OPEN ${LANG_ENGLISH} "Adds “Open folder with ${NAME}” to the menu of folders."
LangString DESC_DESKTOP ${LANG_ENGLISH} "A second way to start it."
!insertmacro MUI_FUNCTION_DESCRIPTION_BEGIN
  !insertmacro MUI_DESCRIPTION_TEXT ${SecApp} $(DESC_APP)
  !insertmacro MUI_DESCRIPTION_TEXT ${SecOpenWith} $(DESC_OPEN)
  !insertmacro MUI_DESCRIPTION_TEXT ${SecDesktop} $(DESC_DESKTOP)
!insertmacro MUI_FUNCTION_DESCRIPTION_END
